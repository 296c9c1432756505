/** What was asked and said, in order, each with its files. Words of others are shown as text, whatever they hold. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { membersQuery } from '../../api/organization-queries.ts';
import { organizationsQuery } from '../../api/queries.ts';
import type { Organization, User } from '../../api/resources.ts';
import { attachmentContent, conversationQuery, type Attachment, type Ticket } from '../../api/ticket-queries.ts';
import { Age } from '../../ui/age.tsx';
import { bytesText } from '../../ui/amounts.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { personName } from '../../ui/person-name.ts';
import { saveBytes } from '../../ui/save-file.ts';
import { Failure } from '../page.tsx';

export function Conversation({ ticket, me }: { ticket: Ticket; me: User }) {
  const { data, error } = useQuery(conversationQuery(ticket));
  const nameOf = useNames(ticket, me);
  const filesOf = (comment: number | null) => data?.attachments.filter(({ comment_id }) => comment_id === comment) ?? [];
  return (
    <ol className="conversation" aria-label="What was said">
      <Said name={nameOf(ticket.requester_id, false)} at={ticket.created} text={ticket.description} ticket={ticket} files={filesOf(null)} />
      {error && <Failure error={error} />}
      {!data && !error && <Bones rows={1} height={56} />}
      {data?.comments.map((comment) => (
        <Said
          key={comment.id}
          name={nameOf(comment.author_id, comment.is_answer)}
          isAnswer={comment.is_answer}
          at={comment.created}
          text={comment.text}
          ticket={ticket}
          files={filesOf(comment.id)}
        />
      ))}
    </ol>
  );
}

const support = 'Support';

/** The API tells authors by their ids; members of the organization are known by name to those who may see them. */
function useNames(ticket: Ticket, me: User) {
  const { data: organizations } = useQuery(organizationsQuery());
  const organization = organizations?.find(({ id }) => id === ticket.organization_id);
  const nobody: Organization = { id: '', name: '', label: '', country: '', _links: {} };
  const { data: members } = useQuery(membersQuery(organization ?? nobody));
  return (author: string | null, isAnswer: boolean): string => {
    if (author === me.id) return personName(me);
    const member = author === null ? undefined : members?.people[author];
    if (member) return personName(member);
    return isAnswer ? support : 'Somebody on this ticket';
  };
}

interface Said {
  name: string;
  isAnswer?: boolean;
  at: string;
  text: string;
  ticket: Ticket;
  files: readonly Attachment[];
}

const Said = ({ name, isAnswer = false, at, text, ticket, files }: Said) => (
  <li className={isAnswer ? 'is-answer' : undefined}>
    <Avatar name={name} picture={undefined} />
    <div>
      <p className="row">
        <strong>{name}</strong>
        {isAnswer && name !== support && <span className="tag plain">support</span>}
        <span className="quiet small">
          <Age of={at} ago />
        </span>
      </p>
      <p className="words">{text}</p>
      {files.length > 0 && (
        <ul className="attached" aria-label="Files">
          {files.map((file) => (
            <File key={file.id} ticket={ticket} file={file} />
          ))}
        </ul>
      )}
    </div>
  </li>
);

/** The API hands a file out as text, and only to those who may see the ticket, so it is no link. */
function File({ ticket, file }: { ticket: Ticket; file: Attachment }) {
  const save = useMutation({
    mutationFn: () => attachmentContent(ticket, file),
    onSuccess: ({ data }) =>
      saveBytes(
        file.filename,
        Uint8Array.from(atob(data), (character) => character.charCodeAt(0)),
      ),
  });
  return (
    <li>
      <button type="button" className="button tiny" disabled={save.isPending} onClick={() => save.mutate()}>
        {file.filename}
      </button>
      <span className="quiet small">{bytesText(file.size)}</span>
      {save.error && <FailureNotice>{save.error.message}</FailureNotice>}
    </li>
  );
}
