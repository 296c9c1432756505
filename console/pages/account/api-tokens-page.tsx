/** The API tokens of a person: programs that have one act as them. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import { hrefOf } from '../../api/link.ts';
import { apiTokensQuery, meQuery } from '../../api/queries.ts';
import type { ApiToken, User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { CopyButton, Snippet } from '../../ui/copy-button.tsx';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { useTitle } from '../page.tsx';

export function ApiTokensPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('API tokens');
  return me && <ApiTokens me={me} />;
}

function ApiTokens({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: tokens, error } = useQuery(apiTokensQuery(me));
  const [created, setCreated] = useState<ApiToken>();
  const changed = () => void queries.invalidateQueries({ queryKey: ['me', 'api-tokens'] });
  const create = (
    <DeedButton
      resource={me}
      rel="create-api-token"
      says="New API token"
      verb="Create the token"
      icon="key"
      look="button primary"
      onDone={(token) => {
        setCreated(token as ApiToken);
        changed();
      }}
    />
  );
  return (
    <>
      {created?.token !== undefined && <NewToken name={created.name} secret={created.token} />}
      <List
        title="API tokens"
        about="A program with one of these acts as you. Each is shown once, when it is made."
        button={create}
        rows={tokens?.toSorted((one, other) => other.created_at.localeCompare(one.created_at))}
        error={error}
        columns={['Name', 'Made', 'Last used', actionsColumn]}
        empty={{
          says: 'You have no API token yet.',
          curl: curlOf('POST', hrefOf(me, 'create-api-token'), { name: 'Laptop' }),
        }}
      >
        {(token) => <TokenRow key={token.id} token={token} onChange={changed} />}
      </List>
    </>
  );
}

const NewToken = ({ name, secret }: { name: string; secret: string }) => (
  <section className="panel new-token" aria-label="Your new API token">
    <header>
      <h2>{name}</h2>
      <span className="quiet">Copy it now: it is not shown again.</span>
    </header>
    <div className="stack">
      <p className="row">
        <code className="token" data-token>
          {secret}
        </code>
        <CopyButton text={secret} label="Copy the token" />
      </p>
      <Snippet
        label="Copy the request"
        text={`curl -u platform-api-user: -d grant_type=api_token -d api_token=${secret} ${location.origin}/oauth2/token`}
      />
    </div>
  </section>
);

export const TokenRow = ({ token, onChange }: { token: ApiToken; onChange(): void }) => (
  <tr>
    <th scope="row">{token.name}</th>
    <td data-label="Made">
      <Age of={token.created_at} ago />
    </td>
    <td data-label="Last used">
      {token.last_used_at === null ? <span className="quiet">never</span> : <Age of={token.last_used_at} ago />}
    </td>
    <td className="end">
      <DeedButton
        resource={token}
        rel="delete"
        says="Revoke"
        verb="Revoke the token"
        label={`Revoke ${token.name}`}
        look="button tiny"
        guard={{ loses: 'Whatever signs in with this token is signed out at once, and cannot come back.' }}
        onDone={onChange}
      />
    </td>
  </tr>
);
