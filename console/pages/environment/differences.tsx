/** What differs between an earlier deployment and what runs now, as the API compared them. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { differencesQuery } from '../../api/queries.ts';
import type { Changed, Differences, EarlierDeployment, Environment } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Failure } from '../page.tsx';
import './differences.css';

interface DeploymentDifferencesProps {
  project: string;
  environment: Environment;
  deployment: EarlierDeployment;
}

export function DeploymentDifferences({ project, environment, deployment }: DeploymentDifferencesProps) {
  const { data: differences, error } = useQuery(differencesQuery(project, environment, deployment));
  if (error) return <Failure error={error} />;
  if (!differences) return <Bones rows={4} height={28} />;
  return <Shown differences={differences} />;
}

function Shown({ differences }: { differences: Differences }) {
  const { earlier, current, containers, routes, variables, builds } = differences;
  const isSame = containers.length + routes.length + variables.length + builds.length === 0 && earlier.commit === current.commit;
  if (isSame) return <p>Nothing: both are made of the same code, configuration, sizes and variables.</p>;
  return (
    <div
      className="differences"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
      tabIndex={0}
      role="group"
      aria-label={`Deployment ${earlier.number} against ${current.number}, which runs now`}
    >
      <CommitDifferences differences={differences} />
      <Part title="Apps, services and workers" isEmpty={containers.length === 0}>
        <ul>
          {containers.map((container) => (
            <ChangedThing key={`${container.kind} ${container.name}`} changed={container} kind={container.kind} of={earlier.number} />
          ))}
        </ul>
      </Part>
      <Part title="Routes" isEmpty={routes.length === 0}>
        <ul>
          {routes.map((route) => (
            <ChangedThing key={route.name} changed={route} kind="route" of={earlier.number} />
          ))}
        </ul>
      </Part>
      <Part title="Builds" isEmpty={builds.length === 0}>
        <p>
          {builds.map((app, n) => (
            <span key={app}>
              {n > 0 && ', '}
              <code>{app}</code>
            </span>
          ))}{' '}
          {builds.length === 1 ? 'was' : 'were'} built from something else.
        </p>
      </Part>
      <Part title="Variables" isEmpty={variables.length === 0}>
        <ul>
          {variables.map(({ name, change }) => (
            <li key={name}>
              <code>{name}</code> <span className="quiet">{sinceWords[change]}</span>
            </li>
          ))}
        </ul>
      </Part>
    </div>
  );
}

const sinceWords = { added: 'came since', removed: 'is gone since', changed: 'has another value since' } as const;

function Part({ title, isEmpty, children }: { title: string; isEmpty: boolean; children: ReactNode }) {
  if (isEmpty) return undefined;
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function CommitDifferences({ differences: { earlier, current, commits } }: { differences: Differences }) {
  if (earlier.commit === current.commit) return undefined;
  return (
    <section>
      <h3>Commits</h3>
      <p>
        <code>{earlier.commit.slice(0, 7)}</code> then, <code>{current.commit.slice(0, 7)}</code> now.
        {commits === null && ' The repository does not have both of them any more.'}
      </p>
      {commits && <CommitList commits={commits.added} words="came since" />}
      {commits && <CommitList commits={commits.removed} words="are only in the earlier one" />}
    </section>
  );
}

function CommitList({ commits: { count, newest }, words }: { commits: NonNullable<Differences['commits']>['added']; words: string }) {
  if (count === 0) return undefined;
  return (
    <>
      <p className="quiet small">
        {count} {words}
        {count > newest.length && `, of which these are the last ${newest.length}`}:
      </p>
      <ul className="commits">
        {newest.map(({ sha, message, author, date }) => (
          <li key={sha}>
            <code>{sha.slice(0, 7)}</code>
            <span className="cut" title={message}>
              {message}
            </span>
            <span className="quiet small">
              {author}, <Age of={date} ago />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface ChangedThingProps {
  changed: Changed;
  kind: string;
  of: number;
}

const ChangedThing = ({ changed: { name, change, differences }, kind, of }: ChangedThingProps) => (
  <li>
    <span className="quiet">{kind}</span> <code>{name}</code> {change !== 'changed' && <span className="quiet">{sinceWords[change]}</span>}
    {differences.length > 0 && (
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls can be reached with the keyboard
      <div className="table-scroll" tabIndex={0} role="group" aria-label={`What differs of ${name}`}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">In deployment {of}</th>
              <th scope="col">Now</th>
            </tr>
          </thead>
          <tbody>
            {differences.map(({ path, earlier, current }) => (
              <tr key={path}>
                <th scope="row">
                  <code>{path}</code>
                </th>
                <Value of={earlier} />
                <Value of={current} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </li>
);

const Value = ({ of }: { of: string | null }) => <td>{of === null ? <span className="quiet">not set</span> : <code>{of}</code>}</td>;
