/**
 * A project from nothing to its first address: the exact commands, then the log of the push as it comes, then where it runs and what can be done next. The
 * page of the project shows this until somebody leaves it.
 */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { EnvironmentButtons } from '../../actions/environment-actions.tsx';
import { addressOf } from '../../api/environment-standing.ts';
import { linkOf } from '../../api/link.ts';
import { authorityQuery } from '../../api/project-queries.ts';
import { meQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import type { Activity, ApiToken, Environment, Project } from '../../api/resources.ts';
import { ActivityLog } from '../../log/activity-log.tsx';
import { Snippet } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { clientCommands, clientSetUp, exampleCommands, gitCommands, trustCommands } from './push-commands.ts';

interface FirstPush {
  project: Project;
  /** The environment that is waited for: of the default branch. */
  environment: Environment | undefined;
  activities: readonly Activity[];
}

export function FirstPush({ project, environment, activities }: FirstPush) {
  const push = activities.find(({ type, environments }) => type === 'environment.push' && environments.includes(project.default_branch));
  if (environment?.has_deployment && environment.status === 'active') return <Arrived project={project} environment={environment} />;
  return (
    <>
      {push && <PushUnderWay activity={push} />}
      {(!push || push.result === 'failure') && <Commands project={project} hasFailed={push !== undefined} />}
    </>
  );
}

const PushUnderWay = ({ activity }: { activity: Activity }) => (
  <section className="section first-push" aria-label="The first push">
    <div className="section-head">
      <h2>{activity.result === 'failure' ? 'The push did not go live' : 'Your push has arrived'}</h2>
      <span className="quiet">
        {activity.result === 'failure'
          ? 'The last lines say why. Repair it, commit, and push again.'
          : 'It is built and started now. The first time takes longest: images are made once.'}
      </span>
    </div>
    <ActivityLog key={activity.id} activity={activity} />
  </section>
);

/** Where it runs, and the three things that people try next. */
function Arrived({ project, environment }: { project: Project; environment: Environment }) {
  const address = addressOf(environment);
  return (
    <section className="panel arrived" aria-label="It is live">
      <header>
        <h2>It is live</h2>
        {address !== undefined && (
          <a className="mono cut" href={address}>
            {address}
          </a>
        )}
      </header>
      <div className="stack">
        <p>
          Every push to <code>{environment.id}</code> goes live like this. Branch it, and the branch runs beside it with a copy of all its
          data.
        </p>
        <div className="row wrap">
          {address !== undefined && (
            <a className="button primary" href={address}>
              <Icon name="open" />
              Open it
            </a>
          )}
          <EnvironmentButtons project={project.id} environment={environment} />
        </div>
      </div>
    </section>
  );
}

const ways = ['Git', 'Client'] as const;

function Commands({ project, hasFailed }: { project: Project; hasFailed: boolean }) {
  const [way, setWay] = useState<(typeof ways)[number]>('Git');
  const [token, setToken] = useState<string>();
  const { data: authority } = useQuery(authorityQuery());
  const commands = {
    project: project.id,
    branch: project.default_branch,
    origin: location.origin,
    token,
    authority: authority?.certificate ?? undefined,
  };
  return (
    <section className="section first-push" aria-label="How to push">
      <div className="section-head">
        <h2>{hasFailed ? 'Push again' : 'Waiting for the first push'}</h2>
        <div className="segments push" role="group" aria-label="Commands for">
          {ways.map((each) => (
            <button key={each} type="button" aria-pressed={way === each} onClick={() => setWay(each)}>
              {each === 'Git' ? 'Git' : 'The upsun client'}
            </button>
          ))}
        </div>
      </div>
      <ol className="steps">
        <TokenStep token={token} onToken={setToken} />
        {way === 'Git' && <TrustStep text={trustCommands(commands)} />}
        {way === 'Client' && (
          <Step title="Set up the client, in the folder of Offshoot" text={clientSetUp(token)}>
            On another machine, whoever operates the platform gives you the two files that <code>cli-config</code> writes.
          </Step>
        )}
        <Step title="Take an example, in the folder of Offshoot" text={exampleCommands(commands)}>
          Or go to a repository of your own that has a <code>.upsun/config.yaml</code>.
        </Step>
        <Step title="Push" text={way === 'Git' ? gitCommands(commands) : clientCommands(commands)}>
          This page shows what happens as soon as the push arrives.
        </Step>
      </ol>
    </section>
  );
}

const Step = ({ title, text, children }: { title: string; text: string; children: ReactNode }) => (
  <li>
    <h3>{title}</h3>
    <Snippet label={`Copy: ${title}`} text={text} />
    <p className="quiet">{children}</p>
  </li>
);

const TrustStep = ({ text }: { text: string | undefined }) =>
  text === undefined ? undefined : (
    <li>
      <h3>Have Git trust this platform</h3>
      <details>
        <summary>Its certificate comes from an authority of its own, which signs for its names alone</summary>
        <Snippet label="Copy: have Git trust this platform" text={text} />
      </details>
    </li>
  );

/** A token that is made here is in the commands below as long as the page is open, and nowhere else. */
function TokenStep({ token, onToken }: { token: string | undefined; onToken(token: string): void }) {
  const { data: me } = useQuery(meQuery());
  const link = linkOf(me, 'create-api-token');
  const make = useMutation({
    mutationFn: () => request<ApiToken>('POST', link?.href ?? '', { name: `Pushing, ${new Date().toISOString().slice(0, 16)}` }),
    onSuccess: ({ token: secret }) => secret !== undefined && onToken(secret),
  });
  return (
    <li>
      <h3>Get an API token</h3>
      {token === undefined ? (
        <p className="row wrap">
          {link && (
            <button type="button" className="button primary" disabled={make.isPending} onClick={() => make.mutate()}>
              <Icon name="key" />
              Make one and put it into the commands
            </button>
          )}
          <span className="quiet">
            Or <code>export API_TOKEN=…</code> with one of <Link to="/account/api-tokens">yours</Link>.
          </span>
        </p>
      ) : (
        <p role="status">
          The commands below hold a new token. It is not shown again; <Link to="/account/api-tokens">your account</Link> lists and revokes
          it.
        </p>
      )}
      {make.error && <FailureNotice>{make.error.message}</FailureNotice>}
    </li>
  );
}
