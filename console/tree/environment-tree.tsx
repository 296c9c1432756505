/** The environments of a project, each below the one it grew from: the signature of the product, and the home page of a project. */
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, memo, type PointerEvent, useMemo, useState, useSyncExternalStore } from 'react';
import { EnvironmentMenu } from '../actions/environment-actions.tsx';
import { standingOf, type EnvironmentStanding } from '../api/environment-standing.ts';
import type { TreeShoot } from '../api/project-queries.ts';
import type { Activity, Environment } from '../api/resources.ts';
import { useNow } from '../ui/age.tsx';
import { GrowthDrawing } from './growth-drawing.tsx';
import { grow, narrow, scaleOf, wide, type Measures, type Scale, type Slice } from './growth.ts';
import { shootsOf } from './shoots.ts';
import { Apart, Data, LastActivity, People, Standing, Uses } from './tree-cells.tsx';

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
  /** What the API's tree tells of each, once it is there. */
  told: readonly TreeShoot[];
}

export function EnvironmentTree({ project, environments, activities, told }: Tree) {
  const now = useNow();
  const measures = useMeasures();
  const toldOf = useMemo(() => new Map(told.map((shoot) => [shoot.id, shoot])), [told]);
  const looks = useMemo(() => looksOf(environments), [environments]);
  const shoots = shootsOf(environments, activities, toldOf);
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
              told={toldOf.get(slice.id)}
              slice={slice}
              measures={measures}
              looks={looks}
            />
          );
        })}
      </tbody>
    </table>
  );
}

const looksOf = (environments: readonly Environment[]) =>
  new Map(environments.map(({ id, type, status }) => [id, `${type} ${status === 'inactive' ? 'dormant' : ''}`]));

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
      <th scope="col">Uses now</th>
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
  told: TreeShoot | undefined;
  slice: Slice;
  measures: Measures;
  looks: ReadonlyMap<string, string>;
}

/** Time moves on and things happen elsewhere in the tree: a row that looks the same is not drawn again. */
const TreeRow = memo(TreeRowDrawn, (before, now) => {
  const { standing, slice, ...rest } = before;
  const isSame = (Object.keys(rest) as (keyof typeof rest)[]).every((name) => before[name] === now[name]);
  return isSame && looksSame(standing, now.standing) && looksSame(slice, now.slice);
});

/** A tenth of a pixel is seen by nobody. */
const looksSame = (one: object, other: object) => shownIn(one) === shownIn(other);
const shownIn = (value: object) =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'number' ? Math.round(part * 10) / 10 : part));

function TreeRowDrawn({ project, environment, standing, last, told, slice, measures, looks }: Row) {
  const { id, type, parent, is_main } = environment;
  return (
    <tr data-environment={id} aria-level={slice.depth + 1} className={is_main ? 'root' : undefined}>
      <td className="growth-cell">
        <GrowthDrawing slice={slice} measures={measures} looks={looks} standing={standing.standing} />
      </td>
      <th scope="row">
        <span className="name">
          <Link to="/projects/$project/environments/$environment" params={{ project, environment: id }}>
            {id}
          </Link>
          <span className={`tag ${type === 'development' ? 'plain' : type}`}>{type}</span>
          {told && <People people={told.people} />}
          <span className="unseen">{parent === null ? ', the root' : `, offshoot of ${parent}`}</span>
        </span>
        <Standing environment={environment} standing={standing} />
      </th>
      <td>{last && <LastActivity project={project} activity={last} />}</td>
      <td>
        <Apart environment={environment} />
      </td>
      <td>
        <Data environment={environment} told={told?.data} />
      </td>
      <td className="uses-cell">{told && <Uses environment={environment} uses={told.uses} />}</td>
      <td className="menu-cell">
        <EnvironmentMenu project={project} environment={environment} />
      </td>
    </tr>
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
