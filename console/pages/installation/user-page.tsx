/** Somebody's account, for operators: who they are, where they are signed in, and by what else they are let in. What they may do about it is what the API links to. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { apiTokensOfQuery, organizationsOfQuery, signInsOfQuery, sshKeysOfQuery, userQuery } from '../../api/installation-queries.ts';
import type { User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Avatar } from '../../ui/avatar.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Bones } from '../../ui/notice.tsx';
import { personName } from '../../ui/person-name.ts';
import { TokenRow } from '../account/api-tokens-page.tsx';
import { SignInRow, signInColumns } from '../account/sign-ins-page.tsx';
import { KeyRow } from '../account/ssh-keys-page.tsx';
import { actionsColumn, List } from '../list-page.tsx';
import { Failure, useTitle } from '../page.tsx';
import './installation.css';

export function UserPage() {
  const { user: id } = useParams({ from: '/installation/users/$user' });
  const { data: user, error } = useQuery(userQuery(id));
  const queries = useQueryClient();
  useTitle(user && personName(user));
  if (error) return <Failure error={error} />;
  if (!user) return <Bones rows={6} height={40} />;
  const changed = () =>
    void queries.invalidateQueries({ predicate: ({ queryKey: [first] }) => first === 'users' || first === 'installation' });
  return (
    <>
      <Account user={user} onChange={changed} />
      <SignIns user={user} onChange={changed} />
      <ApiTokens user={user} onChange={changed} />
      <SshKeys user={user} onChange={changed} />
    </>
  );
}

interface Part {
  user: User;
  onChange(): void;
}

function Account({ user, onChange }: Part) {
  const { data: organizations } = useQuery(organizationsOfQuery(user));
  return (
    <>
      <div className="section-head">
        <h2>{personName(user)}</h2>
        <span className="push row-actions">
          <DeedButton resource={user} rel="delete-picture" verb="Remove the picture" onDone={onChange} />
          <DeedButton
            resource={user}
            rel="update"
            verb="Change"
            label={`Change the profile of ${personName(user)}`}
            asks={['first_name', 'last_name', 'username', 'company', 'website', 'country']}
            current={{ ...user }}
            onDone={onChange}
          />
        </span>
      </div>
      <div className="person">
        <Avatar name={personName(user)} picture={user.picture} className="large" />
        <dl className="facts">
          <dt>Username</dt>
          <dd className="mono">{user.username}</dd>
          <dt>E-mail</dt>
          <dd>{user.email}</dd>
          <dt>Second factor</dt>
          <dd>{user.mfa_enabled ? 'asked for' : <span className="quiet">none</span>}</dd>
          <dt>Organizations</dt>
          <dd>
            {organizations?.items.map(({ id, label }, n) => (
              <span key={id}>
                {n > 0 && ', '}
                <Link to="/organizations/$organization" params={{ organization: id }}>
                  {label}
                </Link>
              </span>
            ))}
            {organizations?.items.length === 0 && <span className="quiet">none</span>}
          </dd>
          <dt>Here</dt>
          <dd>
            since <Age of={user.created_at} />
          </dd>
          <dt>User id</dt>
          <dd className="row">
            <code>{user.id}</code>
            <CopyButton text={user.id} label="Copy the id" />
          </dd>
        </dl>
      </div>
      <p className="quiet section">
        Passwords, second factors, and who is an operator, are changed on the machine: <code>./offshoot user password {user.email}</code>.
      </p>
    </>
  );
}

function SignIns({ user, onChange }: Part) {
  const { data, error } = useQuery(signInsOfQuery(user));
  return (
    <List
      title="Signed in"
      hasHeading
      about="Browsers and programs that act for the person."
      button={
        <DeedButton
          resource={user}
          rel="sign-out-elsewhere"
          verb="Sign out elsewhere"
          guard={{ loses: 'All other browsers and programs are signed out at once. API tokens and SSH keys stay.' }}
          onDone={onChange}
        />
      }
      rows={data}
      error={error}
      columns={signInColumns}
      empty={{ says: 'Nowhere.' }}
    >
      {(signIn) => <SignInRow key={signIn.id} signIn={signIn} onChange={onChange} />}
    </List>
  );
}

function ApiTokens({ user, onChange }: Part) {
  const { data, error } = useQuery(apiTokensOfQuery(user));
  return (
    <List
      title="API tokens"
      hasHeading
      rows={data}
      error={error}
      columns={['Name', 'Made', 'Last used', actionsColumn]}
      empty={{ says: 'None.', cli: `./offshoot token create ${user.email}` }}
    >
      {(token) => <TokenRow key={token.id} token={token} onChange={onChange} />}
    </List>
  );
}

function SshKeys({ user, onChange }: Part) {
  const { data, error } = useQuery(sshKeysOfQuery(user));
  return (
    <List
      title="SSH keys"
      hasHeading
      rows={data}
      error={error}
      columns={['Title', 'Fingerprint', 'Added', actionsColumn]}
      empty={{ says: 'None.' }}
    >
      {(key) => <KeyRow key={key.key_id} of={key} onChange={onChange} />}
    </List>
  );
}
