/**
 * Walks at random through the life of an environment, over HTTP and with real activities, on a machine that only remembers what it is told. Wherever the walk
 * is, the environment is in the state that the table says, what is on the machine fits that state, exactly the verbs that the table calls possible are
 * offered as links, and the others are refused in the table's words. Deployments are watched meanwhile: each of them moves as its own table says.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { activityRow, workThrough } from '../../testing/activities.ts';
import { openMemoryMachine, type MemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { deploymentLife, type DeploymentState } from '../deployments/life-cycle.ts';
import { stackOfVolume } from '../deployments/public.ts';
import { environmentLife, type EnvironmentState } from './life-cycle.ts';
import { verbs, type VerbName } from './verbs.ts';

const timeout = 600_000;
/** Another seed is another walk; a failure names it. */
const seed = 1;
const stepsOfWalk = 100;

let folder: string;
let machine: MemoryMachine;
let home: TestPlatform;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-life-'));
  machine = openMemoryMachine(folder);
  home = await openTestPlatform(undefined, async () => machine);
});
afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }));

const files = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    build: { flavor: none }
    mounts: { data: { source: storage, source_path: data } }
    web: { commands: { start: exec node server.js } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
};

/** What the walk knows of the environment beside its state. */
interface Known {
  isManual: boolean;
  /** How many deployments came to run. */
  deployments: number;
}

interface Cell {
  event: Parameters<typeof environmentLife.otherwise>[1];
  method: 'POST' | 'PATCH' | 'DELETE';
  /** Below the environment, and the name of the link. */
  path: string;
  rel: string;
  /** Beside the state. */
  needs?: (known: Known) => boolean;
  /** Whether the walk really does it, or only looks whether it could. */
  isDone: boolean;
}

const needsOf: Partial<Record<VerbName, Cell['needs']>> = {
  deploy: ({ isManual }) => isManual,
  rollBack: ({ deployments }) => deployments > 1,
};

const cells: Cell[] = [
  ...(Object.keys(verbs) as VerbName[]).map((event): Cell => {
    const path = verbs[event].endpoint.slice(verbs[event].endpoint.lastIndexOf('/'));
    return { event, method: 'POST', path, rel: `#${path.slice(1)}`, isDone: true, ...(needsOf[event] && { needs: needsOf[event] }) };
  }),
  { event: 'delete', method: 'DELETE', path: '', rel: '#delete', isDone: true },
  { event: 'edit', method: 'PATCH', path: '', rel: '#edit', isDone: true },
  { event: 'branch', method: 'POST', path: '/branch', rel: '#branch', isDone: false },
  { event: 'merge', method: 'POST', path: '/merge', rel: '#merge', isDone: false },
  { event: 'synchronize', method: 'POST', path: '/synchronize', rel: '#synchronize', isDone: false },
  { event: 'initialize', method: 'POST', path: '/initialize', rel: '#initialize', isDone: false, needs: () => false },
  { event: 'backUp', method: 'POST', path: '/backup', rel: '#backup', isDone: false },
];

/** What is found where an environment is in the state: containers, data, and what the edge was told. */
const realityOf: Record<EnvironmentState, { runs: boolean; hasData: boolean; edge: string | undefined }> = {
  inactive: { runs: false, hasData: false, edge: undefined },
  active: { runs: true, hasData: true, edge: 'open' },
  paused: { runs: false, hasData: true, edge: 'paused' },
  deleting: { runs: false, hasData: false, edge: undefined },
};

/** The same numbers between 0 and 1 for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

async function openWalk(owner: Person) {
  const { platform } = home;
  const { projectId } = await sampleProject(owner);
  const head = commitFiles(platform.git.path(projectId), undefined, files);
  await platform.git.moveBranch(projectId, 'main', undefined, head);
  await platform.db.updateTable('environments').set({ head_commit: head }).where('project_id', '=', projectId).execute();

  const random = randomFrom(seed);
  const at = `/projects/${projectId}/environments/preview`;
  const done: string[] = [];
  const tried = new Set<string>();
  const visited = new Set<EnvironmentState>();
  const known: Known = { isManual: false, deployments: 0 };
  const history = new Map<string, DeploymentState>();
  let state: EnvironmentState = 'inactive';

  /** A failure tells how to walk there again. */
  const same = (what: string, found: unknown, wanted: unknown) => {
    const way = `${what}, with seed ${seed} after ${done.join(', ')}`;
    expect({ way, found }).toEqual({ way, found: wanted });
  };
  const isPossible = ({ event, needs }: Cell) => environmentLife.possible(state, event) && (needs?.(known) ?? true);

  const create = async () => {
    const { status } = await owner.send('POST', `/projects/${projectId}/environments/main/branch`, { name: 'preview' });
    same('the environment is branched', status, 200);
    await workThrough(platform);
    [state, known.isManual, known.deployments] = ['inactive', false, 0];
    history.clear();
  };

  const look = async () => {
    const { json } = await owner.send('GET', at);
    same('its state', json.status, state);
    visited.add(state);
    const offered = cells.filter(({ rel }) => rel in json._links).map(({ event }) => event);
    const possible = cells.filter(isPossible).map(({ event }) => event);
    same(`what is offered while it is ${state}`, offered, possible);
    const reality = {
      runs: (await machine.runtime.list()).length > 0,
      hasData: (await machine.volumes.list()).some(({ name }) => stackOfVolume(name) !== undefined),
      edge: [...machine.edge.table.values()][0]?.state,
    };
    same(`what is on the machine while it is ${state}`, reality, realityOf[state]);
    await lookAtDeployments();
  };

  const lookAtDeployments = async () => {
    const rows = await platform.db.selectFrom('deployments').select(['id', 'status']).where('project_id', '=', projectId).execute();
    for (const { id, status } of rows) {
      const [before, now] = [history.get(id) ?? 'preparing', status as DeploymentState];
      const follows = deploymentLife.events.some((event) => deploymentLife.after(before, event) === now);
      // What was prepared and has been replaced by now was current in between.
      const passed = deploymentLife.after(deploymentLife.after(before, 'settle') ?? before, 'replace') === now;
      same(`whether a deployment that was ${before} can be ${now}`, now === before || follows || passed, true);
      history.set(id, now);
    }
    const current = rows.filter(({ status }) => deploymentLife.possible(status as DeploymentState, 'run'));
    same('how many deployments are current', current.length, environmentLife.possible(state, 'holdData') ? 1 : 0);
  };

  const bodyOf = async ({ event, method }: Cell) => {
    if (event === 'edit') return { title: `Step ${done.length}` };
    if (event !== 'rollBack' || !environmentLife.possible(state, event)) return method === 'DELETE' ? undefined : {};
    const { json } = await owner.send('GET', `${at}/earlier-deployments`);
    const earlier = (json as { id: string; can_rollback: boolean }[]).filter(({ can_rollback }) => can_rollback);
    return { deployment: earlier[Math.floor(random() * earlier.length)]?.id };
  };

  const refused = async (cell: Cell) => {
    const { status, json } = await owner.send(cell.method, `${at}${cell.path}`, await bodyOf(cell));
    same(`${cell.event} while it is ${state}`, [status, json.message], [409, environmentLife.otherwise(state, cell.event)]);
  };

  /** A verb that is carried out leads where the table says; one that fails leaves all as it was. */
  const carriedOut = async (cell: Cell) => {
    const reply = await owner.send(cell.method, `${at}${cell.path}`, await bodyOf(cell));
    same(`${cell.event} while it is ${state} (${reply.text})`, reply.status, 200);
    const [begun] = reply.json._embedded.activities ?? [];
    if (cell.event === 'delete') return deleted();
    await workThrough(platform);
    const { result } = begun ? await activityRow(platform, begun.id) : { result: 'success' };
    if (result !== 'success') return;
    if (cell.event in verbs && verbs[cell.event as VerbName].deploys !== 'nothing') known.deployments += 1;
    state = environmentLife.after(state, cell.event) ?? state;
  };

  const deleted = async () => {
    state = environmentLife.after(state, 'delete') ?? state;
    await look();
    for (const cell of cells) await refused(cell);
    await workThrough(platform);
    same('it is gone', (await owner.send('GET', at)).status, 404);
    await create();
  };

  /** Whoever turns manual deployments on needs something that serves. */
  const switchManual = async () => {
    const { status, json } = await owner.send('PATCH', `${at}/settings`, { enable_manual_deployments: !known.isManual });
    const may = known.isManual || environmentLife.possible(state, 'deployByHand');
    const refusal = [409, environmentLife.otherwise(state, 'deployByHand')];
    same('manual deployments are switched', may ? status : [status, json.message], may ? 200 : refusal);
    if (may) known.isManual = !known.isManual;
  };

  /** What was not tried in this state goes first. */
  const next = (): Cell => {
    const fresh = cells.filter(({ event }) => !tried.has(`${state} ${event}`));
    const choice = fresh.length > 0 && random() < 0.7 ? fresh : cells;
    return choice[Math.floor(random() * choice.length)] as Cell;
  };

  const step = async () => {
    if (random() < 0.1) await switchManual();
    const cell = next();
    const fails = random() < 0.15;
    if (fails) machine.failNextStart();
    done.push(`${cell.event}${fails ? ' (where nothing starts)' : ''}`);
    tried.add(`${state} ${cell.event}`);
    if (!isPossible(cell)) await refused(cell);
    else if (cell.isDone) await carriedOut(cell);
    machine.startWell();
    await look();
  };

  return { create, look, step, visited };
}

describe('the life of an environment', () => {
  test('is what its table says, wherever a walk leads', { timeout }, async () => {
    const walk = await openWalk(await home.person());
    await walk.create();
    await walk.look();
    for (let steps = 0; steps < stepsOfWalk; steps += 1) await walk.step();
    expect([...walk.visited].toSorted()).toEqual(environmentLife.states.toSorted());
  });

  test('a verb that brings the environment into another state is not possible there again', () => {
    for (const name of (Object.keys(verbs) as VerbName[]).filter((each) => verbs[each].once !== undefined))
      for (const state of environmentLife.statesThat(name))
        expect(environmentLife.statesThat(name), `${name} twice`).not.toContain(environmentLife.after(state, name));
  });
});
