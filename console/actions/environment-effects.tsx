/** What is lost and what stays when something is done to an environment, as the platform really does it. What is not in this table is told by its link alone. */
import type { ReactNode } from 'react';
import type { Environment } from '../api/resources.ts';
import { MergeMap, SynchronizeMap } from '../tree/flow-map.tsx';
import type { Effect } from '../ui/effects.tsx';
import type { Body, Told } from './link-form.tsx';

/** How long backups outlive their environment, as the platform keeps them. */
const backupDays = 14;

const lost = (what: ReactNode, more?: ReactNode): Effect => ({ kind: 'lost', what, more });
const kept = (what: ReactNode, more?: ReactNode): Effect => ({ kind: 'kept', what, more });
const Name = ({ of }: { of: string }) => <code>{of}</code>;

const tellers: Readonly<Record<string, (environment: Environment, body: Body) => Told>> = {
  '#synchronize': synchronizing,
  '#merge': merging,
  '#pause': () => ({
    effects: [kept('Data, code and settings stay', 'Visitors are turned away until it is resumed, and crons do not run.')],
  }),
  '#deactivate': (environment) => ({
    effects: [
      lost(
        <>All that runs is stopped, and the data{ofAllThatKeepsSome(environment)} is destroyed</>,
        'Only a backup can bring the data back.',
      ),
      kept(
        <>
          <b>Code, variables, domains and backups</b> stay
        </>,
        "Whoever activates the environment later begins with a clone of its parent's data.",
      ),
    ],
  }),
  '#delete': ({ id, parent, merge_info: { commits_ahead } }) => ({
    effects: [
      lost(
        <>
          The environment is removed, with its <b>variables and domains</b>
        </>,
      ),
      lost(
        <>
          The branch <Name of={id} /> is removed
        </>,
        commits_ahead ? `It has ${commitsOf(commits_ahead)} that ${parent ?? 'no other branch'} does not have.` : undefined,
      ),
      kept(
        <>
          <b>Backups</b> stay for {backupDays} days
        </>,
        'A branch of the same name has them back in that time.',
      ),
      kept('Environments that were branched off it stay', parent === null ? undefined : `They become offshoots of ${parent}.`),
    ],
  }),
};

/** Undefined where the link says all there is to say. */
export function toldOf(rel: string, environment: Environment): ((body: Body) => Told) | undefined {
  const tell = tellers[rel];
  return tell && ((body) => tell(environment, body));
}

const commitsOf = (count: number) => (count === 1 ? '1 commit' : `${count} commits`);

const flowOf = ({ id, parent, merge_info: { commits_ahead, commits_behind } }: Environment) => ({
  parent: parent ?? 'its parent',
  child: id,
  ahead: commits_ahead ?? 0,
  behind: commits_behind ?? 0,
});

function synchronizing(environment: Environment, body: Body): Told {
  const flow = flowOf(environment);
  const [withCode, withData] = [body['synchronize_code'] === true, body['synchronize_data'] === true];
  const isRebasing = withCode && body['rebase'] === true;
  const own = <b>{commitsOf(flow.ahead)}</b>;
  return {
    drawing: <SynchronizeMap {...flow} withCode={withCode} withData={withData} />,
    ...(withData && { verb: 'Replace data and synchronize' }),
    effects: [
      withData
        ? lost(
            <>The data{ofAllThatKeepsSome(environment)} is replaced</>,
            `What was written in ${flow.child} is lost; ${flow.parent} is only read.`,
          )
        : kept(<b>Data stays as it is</b>),
      ...(withCode && flow.ahead > 0
        ? [
            isRebasing
              ? kept(
                  <>{own} of its own are written anew on top of the parent's</>,
                  'The branch is rewritten: whoever has it has to fetch it again.',
                )
              : kept(<>{own} of its own stay</>, `The ${commitsOf(flow.behind)} of ${flow.parent} are merged into them.`),
          ]
        : []),
      kept(
        <>
          <b>Variables, domains and backups</b> stay
        </>,
      ),
    ],
  };
}

function merging(environment: Environment): Told {
  const flow = flowOf(environment);
  return {
    drawing: <MergeMap {...flow} />,
    verb: `Merge into ${flow.parent}`,
    effects: [
      kept(
        <>
          <Name of={flow.parent} /> gets {commitsOf(flow.ahead)} more
        </>,
        'They are deployed there at once, or staged where deployments are made by hand.',
      ),
      kept(
        <>
          <b>Data</b> of both stays as it is
        </>,
        'Data never flows up.',
      ),
      kept(
        <>
          <Name of={flow.child} /> stays
        </>,
        `It can be deactivated afterwards: its code is then in ${flow.parent}.`,
      ),
    ],
  };
}

/** " of db and files": the names of all that keeps data in an environment. */
export function ofAllThatKeepsSome({ sizing: { services, webapps } }: Environment): ReactNode {
  const names = Object.entries({ ...services, ...webapps }).flatMap(([name, { disk }]) => (disk === null ? [] : [name]));
  return names.map((name, n) => (
    <span key={name}>
      {n === 0 ? ' of ' : n === names.length - 1 ? ' and ' : ', '}
      <b>{name}</b>
    </span>
  ));
}
