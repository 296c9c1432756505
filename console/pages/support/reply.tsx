/** A reply to a ticket, at the end of what was said. */
import { useMutation } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { linkOf } from '../../api/link.ts';
import { Refusal, request } from '../../api/request.ts';
import type { Ticket } from '../../api/ticket-queries.ts';
import { FailureNotice, FieldError } from '../../ui/notice.tsx';
import { AttachFiles, attachedIn, type AttachedFile } from './attach-files.tsx';

export function Reply({ ticket, onDone }: { ticket: Ticket; onDone(): void }) {
  const [id, errorId] = [useId(), useId()];
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly AttachedFile[]>([]);
  const link = linkOf(ticket, 'comment');
  const send = useMutation({
    mutationFn: () => request('POST', link?.href ?? '', { text, ...attachedIn(files) }),
    onSuccess: () => {
      setText('');
      setFiles([]);
      onDone();
    },
  });
  const refused = send.error instanceof Refusal ? send.error.fields.text : undefined;
  if (!link) return undefined;
  return (
    <form
      className="reply"
      onSubmit={(event) => {
        event.preventDefault();
        send.mutate();
      }}
    >
      <div className="field">
        <label htmlFor={id}>Reply</label>
        <textarea
          id={id}
          className="input"
          rows={4}
          value={text}
          aria-invalid={refused === undefined ? undefined : true}
          aria-describedby={refused === undefined ? undefined : errorId}
          onChange={({ target }) => setText(target.value)}
        />
        {refused !== undefined && <FieldError id={errorId}>Reply {refused}.</FieldError>}
      </div>
      <AttachFiles files={files} onChange={setFiles} />
      {send.error && refused === undefined && <FailureNotice>{send.error.message}</FailureNotice>}
      <button type="submit" className="button primary" disabled={send.isPending}>
        Send the reply
      </button>
    </form>
  );
}
