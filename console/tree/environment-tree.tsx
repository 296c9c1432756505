/** The environments of a project, each below the one it grew from: the signature of the product, and the home page of a project. */
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, type PointerEvent, useState, useSyncExternalStore } from 'react';
import { EnvironmentMenu } from '../actions/environment-actions.tsx';
import { addressOf, standingOf, type EnvironmentStanding } from '../api/environment-standing.ts';
import type { Activity, Environment } from '../api/resources.ts';
import { Age, useNow } from '../ui/age.tsx';
import { GrowthDrawing } from './growth-drawing.tsx';
import { grow, narrow, scaleOf, wide, type Measures, type Scale, type Slice } from './growth.ts';
import { shootsOf } from './shoots.ts';

const narrowScreen = matchMedia('(max-width: 880px)');
const useMeasures = (): Measures =>
  useSyncExternalStore(
    (changed) => {
      narrowScreen.addEventListener('change', changed);
      return () => narrowScreen.removeEventListener('change', changed);
    },
    () => (narrowScreen.matches ? narrow : wide),
  );

interface Tree {
  project: string;
  environments: readonly Environment[];
  activities: readonly Activity[];
}

export function EnvironmentTree({ project, environments, activities }: Tree) {
  const now = useNow();
  const measures = useMeasures();
  const shoots = shootsOf(environments, activities);
  const scale = scaleOf(shoots, Math.max(now, ...shoots.map(({ takenAt }) => takenAt)), measures);
  const byId = new Map(environments.map((environment) => [environment.id, environment]));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- arrow keys move between the links of the rows, which are what is operated
    <table
      className="tree"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-to-interactive-role -- a table whose rows form a tree is what a treegrid is
      role="treegrid"
      aria-label="Environments, each below the one it grew from"
      onKeyDown={moveBetweenRows}
      onPointerOver={light}
    >
      <TreeHead scale={scale} />
      <tbody>
        {grow(shoots, scale, measures).map((slice) => {
          const environment = byId.get(slice.id);
          if (!environment) return undefined;
          const standing = standingOf(environment, activities);
          return (
            <TreeRow
              key={slice.id}
              project={project}
              environment={environment}
              standing={standing}
              last={lastOn(environment, activities)}
              slice={slice}
              measures={measures}
              environments={byId}
            />
          );
        })}
      </tbody>
    </table>
  );
}

const TreeHead = ({ scale }: { scale: Scale }) => (
  <thead>
    <tr>
      <th scope="col">
        <span className="growth-title">Data taken</span>
        <span className="growth-scale" aria-hidden="true">
          {scale.ticks.map(({ x, word }) => (
            <span key={word} style={{ left: x }}>
              {word}
            </span>
          ))}
          <span style={{ left: '100%' }}>now</span>
        </span>
      </th>
      <th scope="col">Environment</th>
      <th scope="col">Last activity</th>
      <th scope="col">Code</th>
      <th scope="col">Data</th>
      <th scope="col">
        <span className="unseen">Actions</span>
      </th>
    </tr>
  </thead>
);

interface Row {
  project: string;
  environment: Environment;
  standing: EnvironmentStanding;
  last: Activity | undefined;
  slice: Slice;
  measures: Measures;
  environments: ReadonlyMap<string, Environment>;
}

function TreeRow({ project, environment, standing, last, slice, measures, environments }: Row) {
  const { id, type, parent, is_main } = environment;
  return (
    <tr data-environment={id} aria-level={slice.depth + 1} className={is_main ? 'root' : undefined}>
      <td className="growth-cell">
        <GrowthDrawing slice={slice} measures={measures} environments={environments} standing={standing.standing} />
      </td>
      <th scope="row">
        <span className="name">
          <Link to="/projects/$project/environments/$environment" params={{ project, environment: id }}>
            {id}
          </Link>
          <span className={`tag ${type === 'development' ? 'plain' : type}`}>{type}</span>
          <span className="unseen">{parent === null ? ', the root' : `, offshoot of ${parent}`}</span>
        </span>
        <Standing environment={environment} standing={standing} />
      </th>
      <td>{last && <LastActivity project={project} activity={last} />}</td>
      <td>
        <Apart environment={environment} />
      </td>
      <td>
        <DataAge environment={environment} />
      </td>
      <td className="menu-cell">
        <EnvironmentMenu project={project} environment={environment} />
      </td>
    </tr>
  );
}

function Standing({ environment, standing }: { environment: Environment; standing: EnvironmentStanding }) {
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

const LastActivity = ({ project, activity }: { project: string; activity: Activity }) => (
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

function Apart({ environment: { parent, merge_info } }: { environment: Environment }) {
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

function DataAge({ environment: { parent, status, last_backup_at, created_at } }: { environment: Environment }) {
  if (status === 'inactive') return <span className="quiet">none: nothing runs</span>;
  return (
    <>
      <span className="cut">{parent === null ? 'its own' : `from ${parent}`}</span>
      <span className="under">
        <span className="cut">
          {last_backup_at === null ? (
            <>
              made <Age of={created_at} ago />
            </>
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

const lastOn = ({ id }: Environment, activities: readonly Activity[]) =>
  activities.find(({ environments, completed_at, type }) => environments.includes(id) && completed_at !== null && isTold(type));

/** What the platform does by itself for certificates is not what somebody looks for in the tree. */
const isTold = (type: string) => !type.startsWith('environment.certificate');

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

function moveBetweenRows(event: KeyboardEvent<HTMLTableElement>) {
  const step = steps[event.key];
  const isOnName = event.target instanceof Element && event.target.closest('.name');
  if (!step || !isOnName) return;
  const names = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody .name a')];
  const next = names[step(names.indexOf(event.target as HTMLElement), names.length)];
  next?.focus();
  event.preventDefault();
}

/** Pointing at a row darkens its line, wherever it runs. The rows are left alone: nothing is rendered anew. */
function light({ target, currentTarget }: PointerEvent<HTMLTableElement>) {
  const id = target instanceof Element ? target.closest<HTMLElement>('[data-environment]')?.dataset['environment'] : undefined;
  for (const line of currentTarget.querySelectorAll<SVGElement>('[data-shoot]')) line.classList.toggle('lit', line.dataset['shoot'] === id);
}

/** The names that hold what was typed; a parent stays, so that the tree stays one. */
export function useFilter(environments: readonly Environment[]) {
  const [typed, setTyped] = useState('');
  const found = environments.filter(({ id, title }) => `${id} ${title}`.toLowerCase().includes(typed.trim().toLowerCase()));
  const kept = new Set(found.map(({ id }) => id));
  const byId = new Map(environments.map((environment) => [environment.id, environment]));
  for (const { parent } of found)
    for (let above = parent; above !== null && !kept.has(above); above = byId.get(above)?.parent ?? null) kept.add(above);
  return { typed, setTyped, shown: environments.filter(({ id }) => kept.has(id)) };
}
