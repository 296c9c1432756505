/** The SSH keys of a person: with one of them Git and shells know who they are. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { sshKeysQuery, type SshKey } from '../../api/account-queries.ts';
import { hrefOf } from '../../api/link.ts';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { useTitle } from '../page.tsx';

export function SshKeysPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('SSH keys');
  return me && <SshKeys me={me} />;
}

function SshKeys({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: keys, error } = useQuery(sshKeysQuery(me));
  const changed = () => void queries.invalidateQueries({ queryKey: ['me', 'ssh-keys'] });
  const add = (
    <DeedButton
      resource={me}
      rel="add-ssh-key"
      says="Add an SSH key"
      verb="Add the key"
      icon="key"
      look="button primary"
      given={{ uuid: me.id }}
      onDone={changed}
    />
  );
  return (
    <List
      title="SSH keys"
      about="Git over SSH and shells in your environments know you by these."
      button={add}
      rows={keys}
      error={error}
      columns={['Title', 'Fingerprint', 'Added', actionsColumn]}
      empty={{
        says: (
          <p>
            You have no SSH key here yet. <code>ssh-keygen -t ed25519</code> makes one; add what is in its <code>.pub</code> file.
          </p>
        ),
        cli: 'upsun ssh-key:add ~/.ssh/id_ed25519.pub',
        curl: curlOf('POST', hrefOf(me, 'add-ssh-key'), { title: 'Laptop', value: 'ssh-ed25519 AAAA…', uuid: me.id }),
      }}
    >
      {(key) => <KeyRow key={key.key_id} of={key} onChange={changed} />}
    </List>
  );
}

export const KeyRow = ({ of: key, onChange }: { of: SshKey; onChange(): void }) => (
  <tr>
    <th scope="row">{key.title}</th>
    <td data-label="Fingerprint" className="mono">
      {key.fingerprint}
    </td>
    <td data-label="Added">
      <Age of={key.changed} ago />
    </td>
    <td className="end">
      <DeedButton
        resource={key}
        rel="delete"
        verb="Delete"
        label={`Delete ${key.title}`}
        look="button tiny"
        guard={{ loses: 'Whoever has this key is let in no more, and sessions that it opened end.' }}
        onDone={onChange}
      />
    </td>
  </tr>
);
