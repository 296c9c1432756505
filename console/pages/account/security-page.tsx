/** How a person signs in: password, e-mail address, second factor, and other identity providers. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import { connectionsQuery, type Connection } from '../../api/account-queries.ts';
import { linkOf } from '../../api/link.ts';
import { meQuery } from '../../api/queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Icon } from '../../ui/icon.tsx';
import { actionsColumn, List } from '../list-page.tsx';
import { SignInAgain, useTitle } from '../page.tsx';
import { TwoFactors } from './two-factors.tsx';

export function SecurityPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('Security');
  return me && <Security me={me} />;
}

function Security({ me }: { me: User }) {
  const queries = useQueryClient();
  const changed = () => void queries.invalidateQueries({ queryKey: ['me'] });
  return (
    <>
      {me.mfa_enabled && !linkOf(me, 'change-password') && (
        <div className="notice is-paused">
          <Icon name="key" />
          <div>
            <p>You did not use a passcode for this sign-in. Changing how you sign in takes one.</p>
            <SignInAgain />
          </div>
        </div>
      )}
      <EmailAndPassword me={me} onChange={changed} />
      <TwoFactors me={me} onChange={changed} />
      <Connections me={me} />
    </>
  );
}

function EmailAndPassword({ me, onChange }: { me: User; onChange(): void }) {
  const [said, setSaid] = useState<string>();
  return (
    <section aria-label="E-mail and password">
      <div className="section-head">
        <h2>E-mail and password</h2>
        <span className="push row-actions">
          <DeedButton
            resource={me}
            rel="change-email"
            verb="Change the e-mail address"
            onDone={() =>
              setSaid(
                'A mail is on its way to the new address. The change is made when you open the link in it; until then the old address holds.',
              )
            }
          />
          <DeedButton
            resource={me}
            rel="change-password"
            verb="Change the password"
            asks={['current_password', 'password']}
            onDone={() => {
              setSaid('Your password is changed. All other browsers and programs are signed out; API tokens and SSH keys stay.');
              onChange();
            }}
          />
        </span>
      </div>
      {said !== undefined && (
        <p className="notice" role="status">
          <Icon name="check" />
          <span>{said}</span>
        </p>
      )}
      <dl className="facts">
        <dt>E-mail</dt>
        <dd>{me.email}</dd>
        <dt>Password</dt>
        <dd className="quiet">never shown</dd>
      </dl>
    </section>
  );
}

function Connections({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: connections, error } = useQuery(connectionsQuery(me));
  const changed = () => void queries.invalidateQueries({ queryKey: ['me', 'connections'] });
  if (!connections || connections.length === 0) return undefined;
  return (
    <List
      title="Identity providers"
      hasHeading
      about="Others who vouch for you when you sign in."
      rows={connections}
      error={error}
      columns={['Provider', 'Knows you as', 'Connected', actionsColumn]}
      empty={{ says: 'None.' }}
    >
      {(connection) => <ConnectionRow key={connection.provider} connection={connection} onChange={changed} />}
    </List>
  );
}

const ConnectionRow = ({ connection, onChange }: { connection: Connection; onChange(): void }) => (
  <tr>
    <th scope="row">{connection.provider}</th>
    <td data-label="Knows you as">{connection.email_address || connection.subject}</td>
    <td data-label="Connected">
      <Age of={connection.created_at} ago />
    </td>
    <td className="end">
      <DeedButton
        resource={connection}
        rel="delete"
        verb="Disconnect"
        label={`Disconnect ${connection.provider}`}
        look="button tiny"
        guard={{ loses: 'You no longer sign in through it. Signing in with it once more connects it again.' }}
        onDone={onChange}
      />
    </td>
  </tr>
);
