/** Who is signed in, and who is inside running apps. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { DeedButton } from '../../actions/deed-button.tsx';
import { everySignInQuery, type Installation, sshSessionsQuery } from '../../api/installation-queries.ts';
import { Age } from '../../ui/age.tsx';
import { browserOf } from '../account/sign-ins-page.tsx';
import { actionsColumn, List } from '../list-page.tsx';
import { useInstallation, useInstallationChanged } from './use-installation.ts';

export function SessionsPage() {
  const installation = useInstallation();
  return (
    installation && (
      <>
        <SshSessions installation={installation} />
        <SignIns installation={installation} />
      </>
    )
  );
}

function SshSessions({ installation }: { installation: Installation }) {
  const { data: sessions, error } = useQuery(sshSessionsQuery(installation));
  const changed = useInstallationChanged();
  return (
    <List
      title="Inside apps"
      hasHeading
      about="Over SSH, or in a terminal of the console."
      rows={sessions}
      error={error}
      columns={['Person', 'Where', 'From', 'Since', actionsColumn]}
      empty={{ says: 'Nobody is inside an app.', cli: './offshoot sessions' }}
    >
      {(session) => (
        <tr key={session.id}>
          <th scope="row">{session.email}</th>
          <td data-label="Where">
            <Link
              className="mono"
              to="/projects/$project/environments/$environment"
              params={{ project: session.project_id, environment: session.environment_id }}
            >
              {session.environment_id}
            </Link>
            <span className="under mono">
              {session.runs}:{session.instance}
            </span>
          </td>
          <td data-label="From" className="mono">
            {session.address}
          </td>
          <td data-label="Since">
            <Age of={session.started_at} />
          </td>
          <td className="end">
            {session.is_ending ? (
              <span className="quiet">is being ended</span>
            ) : (
              <DeedButton
                resource={session}
                rel="delete"
                verb="End"
                label={`End the session of ${session.email}`}
                look="button tiny"
                guard={{ loses: 'The person is put out within seconds, and what they run there ends.' }}
                onDone={changed}
              />
            )}
          </td>
        </tr>
      )}
    </List>
  );
}

function SignIns({ installation }: { installation: Installation }) {
  const { data, error } = useQuery(everySignInQuery(installation));
  const changed = useInstallationChanged();
  return (
    <List
      title="Signed in"
      hasHeading
      about={
        data && data.count > data.items.length
          ? `Browsers and programs that act for somebody: the ${data.items.length} heard of last, of ${data.count}.`
          : 'Browsers and programs that act for somebody.'
      }
      rows={data?.items}
      error={error}
      columns={['Person', 'Program', 'From', 'Signed in', 'Last used', actionsColumn]}
      empty={{ says: 'Nobody is signed in in a browser.' }}
    >
      {(signIn) => {
        const who = data?.people[signIn.user_id]?.email ?? signIn.user_id;
        return (
          <tr key={signIn.id}>
            <th scope="row">{who}</th>
            <td data-label="Program">
              {signIn.program}
              <span className="under">{browserOf(signIn.user_agent)}</span>
            </td>
            <td data-label="From" className="mono">
              {signIn.address}
            </td>
            <td data-label="Signed in">
              <Age of={signIn.created_at} ago />
            </td>
            <td data-label="Last used">{signIn.is_current ? 'here, now' : <Age of={signIn.last_used_at} ago />}</td>
            <td className="end">
              {!signIn.is_current && (
                <DeedButton
                  resource={signIn}
                  rel="delete"
                  verb="End"
                  label={`End the sign-in of ${who} at ${signIn.address}`}
                  look="button tiny"
                  guard={{ loses: 'It is signed out at once, and has to sign in again.' }}
                  onDone={changed}
                />
              )}
            </td>
          </tr>
        );
      }}
    </List>
  );
}
