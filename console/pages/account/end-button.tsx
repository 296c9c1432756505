/** A button that ends something of the account, after saying what that means. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Link } from '../../api/link.ts';
import { request } from '../../api/request.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FailureNotice } from '../../ui/notice.tsx';

interface EndButton {
  link: Link;
  /** The list, of the account, that is different afterwards. */
  list: string;
  verb: string;
  title: string;
  consequence: string;
  className?: string;
}

export function EndButton({ link, list, verb, title, consequence, className = 'button tiny' }: EndButton) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const end = useMutation({
    mutationFn: () => request('DELETE', link.href),
    onSuccess: async () => {
      setAsking(false);
      await queries.invalidateQueries({ queryKey: ['me', list] });
    },
  });
  return (
    <>
      <button type="button" className={className} onClick={() => setAsking(true)} aria-label={title}>
        {verb}
      </button>
      {isAsking && (
        <Dialog title={title} onClose={() => setAsking(false)}>
          <div className="dialog-body">
            <p>{consequence}</p>
            {end.error && <FailureNotice>{end.error.message}</FailureNotice>}
          </div>
          <div className="dialog-foot">
            <button type="button" className="button quiet" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" className="button danger sure" disabled={end.isPending} onClick={() => end.mutate()}>
              {verb}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
