/** Where an environment comes from, and how it is reached. */
import { Link } from '@tanstack/react-router';
import type { Environment } from '../../api/resources.ts';
import { Age } from '../../ui/age.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';

export function Kin({ environment }: { environment: Environment }) {
  const { parent, created_at, last_backup_at, http_access, restrict_robots, merge_info, sleeping_since } = environment;
  const { data_taken_from, data_taken_at } = environment;
  const ssh = sshCommands(environment);
  const isGuarded = Object.keys(http_access.basic_auth).length > 0;
  return (
    <section className="panel kin">
      <header>
        <h2>
          {parent === null ? (
            'The root of the tree'
          ) : (
            <>
              Offshoot of{' '}
              <Link
                className="mono"
                to="/projects/$project/environments/$environment"
                params={{ project: environment.project, environment: parent }}
              >
                {parent}
              </Link>
            </>
          )}
        </h2>
      </header>
      <dl className="facts">
        {parent !== null && merge_info.commits_ahead !== null && (
          <>
            <dt>Code</dt>
            <dd>
              {merge_info.commits_ahead} ahead, {merge_info.commits_behind} behind
            </dd>
          </>
        )}
        {data_taken_from !== null && data_taken_at !== null && (
          <>
            <dt>Data</dt>
            <dd>
              {data_taken_from === environment.id ? 'from a backup' : `from ${data_taken_from}`}, <Age of={data_taken_at} ago />
            </dd>
          </>
        )}
        <dt>Made</dt>
        <dd>
          <Age of={created_at} ago />
        </dd>
        {sleeping_since !== null && (
          <>
            <dt>Asleep</dt>
            <dd>
              for <Age of={sleeping_since} />; the next request wakes it
            </dd>
          </>
        )}
        <dt>Backed up</dt>
        <dd>{last_backup_at === null ? 'never' : <Age of={last_backup_at} ago />}</dd>
        <dt>Visitors</dt>
        <dd>
          {isGuarded ? 'need the password' : 'come in without a password'}; robots are {restrict_robots ? 'kept out' : 'let in'}
        </dd>
        {ssh.map(({ name, command }) => (
          <SshFact key={name} name={name} command={command} />
        ))}
      </dl>
    </section>
  );
}

const SshFact = ({ name, command }: { name: string; command: string }) => (
  <>
    <dt>SSH to {name}</dt>
    <dd className="row">
      <code className="cut">{command}</code>
      <CopyButton text={command} label={`Copy the command for ${name}`} />
    </dd>
  </>
);

/** One for each app and worker; single instances have links of their own, which are not repeated here. */
const sshCommands = ({ _links }: Environment) =>
  Object.entries(_links).flatMap(([rel, link]) => {
    const name = /^pf:ssh:([^:]+)$/.exec(rel)?.[1];
    const href = Array.isArray(link) ? undefined : (link as { href: string }).href;
    return name === undefined || href === undefined ? [] : [{ name, command: `ssh ${href.replace('ssh://', '')}` }];
  });
