/** The API tokens of a person: programs that have one act as them. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { LinkForm } from '../../actions/link-form.tsx';
import { linkOf } from '../../api/link.ts';
import { apiTokensQuery, meQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { ApiToken, User } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { CopyButton, Snippet } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Bones, FailureNotice } from '../../ui/notice.tsx';
import { Failure, useTitle } from '../page.tsx';

export function ApiTokensPage() {
  const { data: me } = useQuery(meQuery());
  useTitle('API tokens');
  return me && <ApiTokens me={me} />;
}

function ApiTokens({ me }: { me: User }) {
  const queries = useQueryClient();
  const { data: tokens, error } = useQuery(apiTokensQuery(me));
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<ApiToken>();
  const create = linkOf(me, 'create-api-token');
  const done = (token: unknown) => {
    setCreating(false);
    setCreated(token as ApiToken);
    void queries.invalidateQueries({ queryKey: ['me', 'api-tokens'] });
  };
  return (
    <>
      <div className="section-head">
        <p className="quiet">A program with one of these acts as you. Each is shown once, when it is made.</p>
        {create && (
          <span className="push">
            <button type="button" className="button primary" onClick={() => setCreating(true)}>
              <Icon name="key" />
              New API token
            </button>
          </span>
        )}
      </div>
      {created?.token !== undefined && <NewToken name={created.name} secret={created.token} />}
      {error && <Failure error={error} />}
      {!tokens && !error && <Bones rows={2} height={40} />}
      {tokens && <TokenTable tokens={tokens.toSorted((one, other) => other.created_at.localeCompare(one.created_at))} />}
      {create && isCreating && (
        <Dialog title="New API token" onClose={() => setCreating(false)}>
          <LinkForm link={create} verb="Create the token" onDone={done} onCancel={() => setCreating(false)} />
        </Dialog>
      )}
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

function TokenTable({ tokens }: { tokens: readonly ApiToken[] }) {
  if (tokens.length === 0) return <p className="empty">You have no API token yet.</p>;
  return (
    <table className="table cards">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Made</th>
          <th scope="col">Last used</th>
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token.id}>
            <th scope="row">{token.name}</th>
            <td data-label="Made">
              <Age of={token.created_at} ago />
            </td>
            <td data-label="Last used">
              {token.last_used_at === null ? <span className="quiet">never</span> : <Age of={token.last_used_at} ago />}
            </td>
            <td className="end">
              <RevokeButton token={token} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RevokeButton({ token }: { token: ApiToken }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const link = linkOf(token, 'delete');
  const revoke = useMutation({
    mutationFn: () => request('DELETE', link?.href ?? ''),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['me', 'api-tokens'] }),
  });
  if (!link) return undefined;
  return (
    <>
      <button type="button" className="button tiny" onClick={() => setAsking(true)} aria-label={`Revoke ${token.name}`}>
        Revoke
      </button>
      {isAsking && (
        <Dialog title={`Revoke ${token.name}`} onClose={() => setAsking(false)}>
          <div className="dialog-body">
            <p>Whatever signs in with this token is signed out at once, and cannot come back.</p>
            {revoke.error && <FailureNotice>{revoke.error.message}</FailureNotice>}
          </div>
          <div className="dialog-foot">
            <button type="button" className="button quiet" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" className="button danger sure" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
              Revoke the token
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
