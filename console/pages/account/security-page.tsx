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
import { SignInAgain, useTitle } from '../page.tsx';
import { EndButton } from './end-button.tsx';
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
  const { data: connections } = useQuery(connectionsQuery(me));
  if (!connections || connections.length === 0) return undefined;
  return (
    <section className="section" aria-label="Identity providers">
      <div className="section-head">
        <h2>Identity providers</h2>
        <span className="quiet">Others who may vouch for you when you sign in.</span>
      </div>
      <table className="table cards">
        <thead>
          <tr>
            <th scope="col">Provider</th>
            <th scope="col">Knows you as</th>
            <th scope="col">Connected</th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {connections.map((connection) => (
            <ConnectionRow key={connection.provider} connection={connection} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ConnectionRow({ connection: { provider, email_address, subject, created_at, ...rest } }: { connection: Connection }) {
  const remove = linkOf(rest, 'delete');
  return (
    <tr>
      <th scope="row">{provider}</th>
      <td data-label="Knows you as">{email_address || subject}</td>
      <td data-label="Connected">
        <Age of={created_at} ago />
      </td>
      <td className="end">
        {remove && (
          <EndButton
            link={remove}
            list="connections"
            verb="Disconnect"
            title={`Disconnect ${provider}`}
            consequence="You no longer sign in through it. Signing in with it once more connects it again."
          />
        )}
      </td>
    </tr>
  );
}
