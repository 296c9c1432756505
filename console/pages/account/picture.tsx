/** The picture of a person: shown, replaced and removed. */
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { linkOf } from '../../api/link.ts';
import { request } from '../../api/request.ts';
import type { User } from '../../api/resources.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { personName } from '../../ui/person-name.ts';

const accepted = 'image/jpeg,image/png,image/webp,image/gif';

export function Picture({ me, onChange }: { me: User; onChange(): void }) {
  const input = useRef<HTMLInputElement>(null);
  const [upload, remove] = [linkOf(me, 'upload-picture'), linkOf(me, 'delete-picture')];
  const change = useMutation({
    mutationFn: (file: File | undefined) => {
      if (!file) return request('DELETE', remove?.href ?? '');
      const form = new FormData();
      form.set('file', file);
      return request('POST', upload?.href ?? '', form);
    },
    onSuccess: onChange,
  });
  return (
    <>
      <div className="person">
        <Avatar name={personName(me)} picture={me.picture} className="large" />
        {upload && (
          <>
            <button type="button" className="button" disabled={change.isPending} onClick={() => input.current?.click()}>
              Upload a picture
            </button>
            <input
              ref={input}
              type="file"
              accept={accepted}
              aria-label="A picture of you"
              hidden
              onChange={({ target }) => target.files?.[0] && change.mutate(target.files[0])}
            />
          </>
        )}
        {remove && (
          <button type="button" className="button quiet" disabled={change.isPending} onClick={() => change.mutate(undefined)}>
            Remove it
          </button>
        )}
      </div>
      {change.error && <FailureNotice>{change.error.message}</FailureNotice>}
    </>
  );
}
