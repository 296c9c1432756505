/** What a row of the tree tells of an environment beside its name. */
import { Link } from '@tanstack/react-router';
import { addressOf, type EnvironmentStanding } from '../api/environment-standing.ts';
import type { TreeShoot } from '../api/project-queries.ts';
import type { Activity, Environment } from '../api/resources.ts';
import { Age, exactTime } from '../ui/age.tsx';
import { bytesText } from '../ui/amounts.ts';
import { initialsOf } from '../ui/initials.ts';

export function Standing({ environment, standing }: { environment: Environment; standing: EnvironmentStanding }) {
  const address = addressOf(environment);
  return (
    <>
      <span className="under">
        <span className={`status is-${standing.standing}`}>
          {standing.word}
          {standing.percent !== undefined && `, ${standing.percent} %`}
          {environment.sleeping_since !== null && standing.standing === 'sleeping' && (
            <span>
              {' '}
              for <Age of={environment.sleeping_since} />
            </span>
          )}
        </span>
        {address && standing.standing !== 'inactive' && (
          <a className="address" href={address} title={address}>
            {new URL(address).host}
          </a>
        )}
      </span>
      {standing.percent !== undefined && (
        <span className="progress row-progress" aria-hidden="true">
          <span style={{ width: `${standing.percent}%` }} />
        </span>
      )}
    </>
  );
}

export const LastActivity = ({ project, activity }: { project: string; activity: Activity }) => (
  <>
    <span className="cut">
      {activity.result === 'failure' ? 'Failed' : 'Done'}, <Age of={activity.completed_at ?? activity.created_at} ago />
    </span>
    <span className="under">
      <Link className="cut" to="/projects/$project/activities/$activity" params={{ project, activity: activity.id }}>
        {activity.text}
      </Link>
    </span>
  </>
);

export function Apart({ environment: { parent, merge_info } }: { environment: Environment }) {
  const { commits_ahead: ahead, commits_behind: behind } = merge_info;
  if (parent === null) return <span className="quiet small">root</span>;
  if (ahead === null || behind === null) return undefined;
  return (
    <span className="apart">
      <span className={`n ${ahead === 0 ? 'zero' : ''}`}>{ahead} ahead</span>
      <span className={`n ${behind === 0 ? 'zero' : ''}`}>{behind} behind</span>
    </span>
  );
}

/** Whose data it is a copy of and since when, how much there is, and how much of that is its own: the rest takes no room of its own. */
export function Data({ environment, told }: { environment: Environment; told: TreeShoot['data'] | undefined }) {
  const { status, id, data_taken_from: from, data_taken_at: at, last_backup_at } = environment;
  if (status === 'inactive') return <span className="quiet">none: nothing runs</span>;
  const { bytes = null, own_bytes: own = null } = told ?? {};
  return (
    <>
      <span className="cut">
        {from === null ? 'its own' : from === id ? 'from a backup' : `from ${from}`}
        {from !== null && at !== null && (
          <>
            , <Age of={at} ago />
          </>
        )}
        {from === null && bytes !== null && `, ${bytesText(bytes)}`}
      </span>
      <span className="under">
        {bytes !== null && own !== null && <DataBar own={own} bytes={bytes} />}
        <span className="cut">
          {from !== null && bytes !== null && own !== null ? (
            `${bytesText(own)} own of ${bytesText(bytes)}`
          ) : last_backup_at === null ? (
            'never backed up'
          ) : (
            <>
              backed up <Age of={last_backup_at} ago />
            </>
          )}
        </span>
      </span>
    </>
  );
}

function DataBar({ own, bytes }: { own: number; bytes: number }) {
  const share = bytes === 0 ? 100 : Math.min(100, (own / bytes) * 100);
  return (
    <span className="meter pair data-bar" aria-hidden="true">
      <span style={{ width: `${share}%` }} />
      <span className="shared" style={{ width: `${100 - share}%` }} />
    </span>
  );
}

export function Uses({ environment, uses: { cpu, memory_bytes } }: { environment: Environment; uses: TreeShoot['uses'] }) {
  if (environment.sleeping_since !== null) return <span className="quiet small">nothing: asleep</span>;
  if (cpu === null || memory_bytes === null) return undefined;
  return (
    <>
      <span className="cut">{cpu.toFixed(2)} CPU</span>
      <span className="under">{bytesText(memory_bytes)}</span>
    </>
  );
}

/** The latest first. Who they are is said to those who point at them, and to those who hear the page. */
export const People = ({ people }: Pick<TreeShoot, 'people'>) =>
  people.length === 0 ? undefined : (
    <span className="people">
      {people.map(({ id, display_name, last_active_at }) => (
        <span
          key={id}
          className="avatar small"
          role="img"
          aria-label={`${display_name} works on it`}
          title={`${display_name}, ${exactTime(last_active_at)}`}
          data-initials={initialsOf(display_name)}
        />
      ))}
    </span>
  );
