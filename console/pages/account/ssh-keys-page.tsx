/** The SSH keys of a person: with one of them Git and shells know who they are. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { LinkForm } from '../../actions/link-form.tsx';
import { sshKeysQuery, type SshKey } from '../../api/account-queries.ts';
import { linkOf } from '../../api/link.ts';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure, useTitle } from '../page.tsx';
import { EndButton } from './end-button.tsx';

export function SshKeysPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('SSH keys');
  return me && <SshKeys me={me} />;
}

function SshKeys({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: keys, error } = useQuery(sshKeysQuery(me));
  const [isAdding, setAdding] = useState(false);
  const add = linkOf(me, 'add-ssh-key');
  const done = () => {
    setAdding(false);
    void queries.invalidateQueries({ queryKey: ['me', 'ssh-keys'] });
  };
  return (
    <>
      <div className="section-head">
        <p className="quiet">Git over SSH and shells in your environments know you by these.</p>
        {add && (
          <span className="push">
            <button type="button" className="button primary" onClick={() => setAdding(true)}>
              <Icon name="key" />
              Add an SSH key
            </button>
          </span>
        )}
      </div>
      {error && <Failure error={error} />}
      {!keys && !error && <Bones rows={2} height={40} />}
      {keys && <KeyTable keys={keys} />}
      {add && isAdding && (
        <Dialog title="Add an SSH key" onClose={() => setAdding(false)}>
          <LinkForm link={add} given={{ uuid: me.id }} verb="Add the key" onDone={done} onCancel={() => setAdding(false)} />
        </Dialog>
      )}
    </>
  );
}

function KeyTable({ keys }: { keys: readonly SshKey[] }) {
  if (keys.length === 0)
    return (
      <div className="empty">
        <p>
          You have no SSH key here yet. <code>ssh-keygen -t ed25519</code> makes one; add what is in its <code>.pub</code> file.
        </p>
      </div>
    );
  return (
    <table className="table cards">
      <thead>
        <tr>
          <th scope="col">Title</th>
          <th scope="col">Fingerprint</th>
          <th scope="col">Added</th>
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={key.key_id} of={key} />
        ))}
      </tbody>
    </table>
  );
}

function KeyRow({ of: key }: { of: SshKey }) {
  const remove = linkOf(key, 'delete');
  return (
    <tr>
      <th scope="row">{key.title}</th>
      <td data-label="Fingerprint" className="mono">
        {key.fingerprint}
      </td>
      <td data-label="Added">
        <Age of={key.changed} ago />
      </td>
      <td className="end">
        {remove && (
          <EndButton
            link={remove}
            list="ssh-keys"
            verb="Delete"
            title={`Delete ${key.title}`}
            consequence="Whoever has this key is let in no more, and sessions that it opened end."
          />
        )}
      </td>
    </tr>
  );
}
