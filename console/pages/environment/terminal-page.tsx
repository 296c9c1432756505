/** A terminal into each container that the person may get into, as over SSH. What may be entered is what the environment links to. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { linkOf } from '../../api/link.ts';
import { environmentQuery } from '../../api/queries.ts';
import type { Environment } from '../../api/resources.ts';
import { Snippet } from '../../ui/copy-button.tsx';
import { Bones } from '../../ui/notice.tsx';
import { useTitle } from '../page.tsx';

const TerminalScreen = lazy(async () => ({ default: (await import('../../terminal/terminal-screen.tsx')).TerminalScreen }));

interface Destination {
  /** What the API calls it, such as `app--queue` or `app--1`. */
  name: string;
  /** What a person types to get there with a client of their own. */
  command: string;
}

const sshLink = 'pf:ssh:';

/** An app with several instances is linked to as a whole and by each of them. Where it has one, that one is enough. */
export function destinationsOf({ _links }: Pick<Environment, '_links'>): Destination[] {
  const all = Object.keys(_links).filter((rel) => rel.startsWith(sshLink));
  return all
    .filter((rel) => !rel.endsWith(':0') || all.includes(rel.replace(/:0$/, ':1')))
    .filter((rel) => !all.includes(`${rel}:1`))
    .map((rel) => {
      const href = linkOf({ _links }, rel)?.href ?? '';
      const user = decodeURIComponent(new URL(href).username);
      return { name: user.slice(user.indexOf('--') + 2), command: `ssh ${href.slice('ssh://'.length)}` };
    })
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

export function TerminalPage() {
  const { project, environment: id } = useParams({ from: '/projects/$project/environments/$environment' });
  const { data: environment } = useQuery(environmentQuery(project, id));
  useTitle(`Terminal of ${id}`);
  return environment && <Terminals environment={environment} />;
}

function Terminals({ environment }: { environment: Environment }) {
  const navigate = useNavigate();
  const { in: asked } = useSearch({ from: '/projects/$project/environments/$environment/terminal' });
  const link = linkOf(environment, '#terminal');
  const destinations = destinationsOf(environment);
  const chosen = destinations.find(({ name }) => name === asked) ?? destinations[0];
  if (!link || !chosen) return <NothingToEnter />;
  return (
    <section className="section" aria-label="Terminal">
      <div className="section-head">
        <div className="segments" role="group" aria-label="Into">
          {destinations.map(({ name }) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === chosen.name}
              onClick={() => void navigate({ to: '.', search: { in: name }, replace: true })}
            >
              {name}
            </button>
          ))}
        </div>
        <span className="quiet">You are in what runs: what you change here is gone with the next deployment, except in mounts.</span>
      </div>
      <Suspense fallback={<Bones rows={1} height={420} />}>
        <TerminalScreen key={chosen.name} link={link} destination={chosen.name} />
      </Suspense>
      <details className="terminal-ssh">
        <summary>The same with a client of yours</summary>
        <Snippet label="Copy the command" text={chosen.command} />
      </details>
    </section>
  );
}

const NothingToEnter = () => (
  <div className="empty">
    <h2>Nothing to get into</h2>
    <p>
      A terminal leads into an app or a worker that runs, for those whom its configuration lets in (<code>access</code>), or who administer
      the environment.
    </p>
  </div>
);
