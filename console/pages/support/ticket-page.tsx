/** One ticket: what was asked, what was said about it since, and a reply. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { linkOf } from '../../api/link.ts';
import { meQuery, organizationsQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { ticketQuery, type Ticket } from '../../api/ticket-queries.ts';
import { Age } from '../../ui/age.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure, useTitle } from '../page.tsx';
import { Conversation } from './conversation.tsx';
import { OpenTicket } from './open-ticket.tsx';
import { Reply } from './reply.tsx';
import { TicketState } from './ticket-state.tsx';
import { useChoices } from './use-choices.ts';

export function TicketPage() {
  const { ticket: id } = useParams({ from: '/support/$ticket' });
  const { data: me } = useQuery(meQuery());
  const { data: ticket, error } = useQuery(ticketQuery(id));
  const queries = useQueryClient();
  const changed = () => void queries.invalidateQueries({ queryKey: ['tickets'] });
  useTitle(ticket?.subject ?? `Ticket ${id}`);
  return (
    <>
      <div className="page-head">
        <h1>{ticket?.subject ?? `Ticket ${id}`}</h1>
        {ticket && me && <Deeds ticket={ticket} me={me} onChange={changed} />}
      </div>
      {error && <Failure error={error} />}
      {!ticket && !error && <Bones rows={4} height={56} />}
      {ticket && me && (
        <div className="ticket">
          <Facts ticket={ticket} />
          <Conversation ticket={ticket} me={me} />
          <Next ticket={ticket} me={me} onChange={changed} />
        </div>
      )}
    </>
  );
}

interface Part {
  ticket: Ticket;
  me: User;
  onChange(): void;
}

/** Operators, for whom there is an installation, say more of a ticket than those who asked. */
function Deeds({ ticket, me, onChange }: Part) {
  const { told } = useChoices();
  if (ticket.status === 'closed') return undefined;
  return (
    <span className="push row-actions">
      {linkOf(me, 'installation') && (
        <DeedButton
          resource={ticket}
          rel="update"
          verb="Change"
          title={`Change ticket ${ticket.ticket_id}`}
          asks={['status', 'priority', 'type']}
          current={{ ...ticket }}
          words={{ priority: told, status: statusWords }}
          onDone={onChange}
        />
      )}
      {ticket.status === 'solved' ? (
        <DeedButton
          resource={ticket}
          rel="update"
          verb="Open it again"
          summary="Support hears of it by mail."
          given={{ status: 'open' }}
          asks={[]}
          onDone={onChange}
        />
      ) : (
        <DeedButton
          resource={ticket}
          rel="update"
          verb="Mark as solved"
          icon="check"
          summary="Nobody has to do anything about it any more. A reply opens it again."
          given={{ status: 'solved' }}
          asks={[]}
          onDone={onChange}
        />
      )}
    </span>
  );
}

const statusWords = { open: 'With support', solved: 'Solved', pending: 'Answered', hold: 'On hold', closed: 'Closed for good' };

function Facts({ ticket }: { ticket: Ticket }) {
  const words = useChoices();
  const { data: organizations } = useQuery(organizationsQuery());
  const organization = organizations?.find(({ id }) => id === ticket.organization_id);
  return (
    <dl className="facts">
      <dt>State</dt>
      <dd>
        <TicketState status={ticket.status} />
      </dd>
      <dt>Category</dt>
      <dd>{words.category[ticket.category] ?? ticket.category}</dd>
      <dt>Priority</dt>
      <dd>{words.told[ticket.priority] ?? ticket.priority}</dd>
      <dt>Opened</dt>
      <dd>
        <Age of={ticket.created} ago />
      </dd>
      {organization && (
        <>
          <dt>Organization</dt>
          <dd>
            <Link to="/organizations/$organization/support" params={{ organization: organization.id }}>
              {organization.label}
            </Link>
          </dd>
        </>
      )}
      {ticket.affected_url !== undefined && (
        <>
          <dt>Address</dt>
          <dd>
            <a href={ticket.affected_url} rel="noreferrer">
              {ticket.affected_url}
            </a>
          </dd>
        </>
      )}
      {ticket.followup_tid !== undefined && (
        <>
          <dt>Follows up</dt>
          <dd>
            <Link to="/support/$ticket" params={{ ticket: ticket.followup_tid }}>
              Ticket {ticket.followup_tid}
            </Link>
          </dd>
        </>
      )}
    </dl>
  );
}

/** A ticket that is closed stays so; another one follows it up. */
const Next = ({ ticket, me, onChange }: Part) =>
  ticket.status === 'closed' ? (
    <div className="empty">
      <p>This ticket is closed for good. If there is more to say, open another one that follows it up.</p>
      <OpenTicket
        of={me}
        says="Follow it up"
        about={{
          followup_tid: String(ticket.ticket_id),
          ...(ticket.organization_id !== undefined && { organization_id: ticket.organization_id }),
        }}
      />
    </div>
  ) : (
    <Reply ticket={ticket} onDone={onChange} />
  );
