/** Tickets, the last that something happened with first. Everybody can open one; whoever it is about is decided already on the page of an organization. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Body } from '../../actions/link-form.tsx';
import { linkOf, type Link as ApiLink, type Resource } from '../../api/link.ts';
import { ticketsQuery, type Ticket } from '../../api/ticket-queries.ts';
import { Age } from '../../ui/age.tsx';
import { curlOf, List } from '../list-page.tsx';
import { ShowMore } from '../long-list.tsx';
import { OpenTicket } from './open-ticket.tsx';
import { TicketState } from './ticket-state.tsx';
import { useChoices } from './use-choices.ts';

interface Tickets {
  /** Whose links lead to tickets: the person, or an organization. */
  of: Resource;
  about?: Body | undefined;
}

export function Tickets({ of, about }: Tickets) {
  const link = linkOf(of, 'tickets');
  return link && <TicketList link={link} of={of} about={about} />;
}

function TicketList({ link, of, about }: Tickets & { link: ApiLink }) {
  const { data, error, ...more } = useInfiniteQuery(ticketsQuery(link));
  const words = useChoices();
  const open = <OpenTicket of={of} about={about} />;
  return (
    <>
      <List
        title="Tickets"
        about="Ask those who run this installation for help. A ticket is seen by whoever is on it and by operators, and by nobody else."
        button={open}
        rows={data?.pages.flatMap(({ tickets }) => tickets)}
        error={error}
        columns={['Ticket', 'State', 'Category', 'Priority', 'Last change']}
        empty={{
          says: 'No ticket. When something does not work and you do not see why, open one.',
          curl: curlOf('POST', linkOf(of, 'create-ticket')?.href, {
            subject: 'The shop is slow',
            description: 'Since this morning, every page takes a second.',
            priority: 'high',
            category: 'bug_report',
            ...about,
          }),
        }}
      >
        {(ticket) => <TicketRow key={ticket.ticket_id} ticket={ticket} words={words} />}
      </List>
      <ShowMore {...more} />
    </>
  );
}

const TicketRow = ({ ticket, words }: { ticket: Ticket; words: ReturnType<typeof useChoices> }) => (
  <tr>
    <th scope="row">
      <Link to="/support/$ticket" params={{ ticket: String(ticket.ticket_id) }}>
        {ticket.subject}
      </Link>
      <span className="under">Ticket {ticket.ticket_id}</span>
    </th>
    <td data-label="State">
      <TicketState status={ticket.status} />
    </td>
    <td data-label="Category">{words.category[ticket.category] ?? ticket.category}</td>
    <td data-label="Priority">{words.priority[ticket.priority] ?? ticket.priority}</td>
    <td data-label="Last change">
      <Age of={ticket.updated} ago />
    </td>
  </tr>
);
