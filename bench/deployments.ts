/**
 * What people wait for, on a whole platform with real containers: a push to its end and to the first reply, a branch with a database of one and of five
 * gibibytes, redeployments while visitors keep coming, and the memory of what is idle.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesOfStack, stacksIn } from '../e2e/containers.ts';
import { createInstallation, plainHttp } from '../e2e/installation.ts';
import { firstPerson, openProject, read, successful, type Project } from '../e2e/open-project.ts';
import { visit } from '../e2e/visit.ts';
import { startLoad } from '../edge/testing/load.ts';
import { fillsFor, fullFiles, smallFiles } from './harness/measured-stack.ts';
import { median } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const gibibyte = 2 ** 30;
const firstPushes = 5;
const unchangedPushes = 9;
const branchRounds = 5;
const redeployments = { rolling: 10, stopstart: 10 } as const;
const clients = 4;
const idleEnvironments = 4;
/** Work that earlier measurements left behind must not slow down the next one. */
const restMilliseconds = 2000;
const pollMilliseconds = 10;
const replySecondsMax = 120;

const targets = { unchangedSeconds: 1.5, firstSeconds: 5, branchSeconds: 5, fiveToOne: 1.3 };

const seconds = (values: readonly number[]) =>
  `${median(values).toFixed(2)} s (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}, ${values.length} times)`;

const noteSeconds = (what: string, values: readonly number[], secondsMax: number) =>
  note({ what, measured: seconds(values), target: `< ${secondsMax} s`, isMet: median(values) < secondsMax });

async function untilAnswered(address: string, path: string, expected: string): Promise<void> {
  const url = new URL(path, address).href;
  const deadline = performance.now() + replySecondsMax * 1000;
  for (;;) {
    const { status, text } = await visit(url).catch((error: Error) => ({ status: 0, text: error.message }));
    if (status === 200 && text === expected) return;
    if (performance.now() > deadline) throw new Error(`${url} answers ${status} ${text} in place of ${expected}`);
    await sleep(pollMilliseconds);
  }
}

await using installation = await createInstallation(plainHttp);
const person = await firstPerson(installation.url, await installation.start());

/** The address of an environment, even of one that does not answer yet. */
async function addressOf(project: Project, environment: string): Promise<string> {
  const { edge_hostname } = await project.environment(environment);
  return `http://${edge_hostname}:${installation.edgePort}/`;
}

/** A new project whose main environment answers. */
async function deployed(files: Record<string, string>): Promise<{ project: Project; main: string; timings: Record<string, number> }> {
  const project = await openProject(person);
  await project.write(files, 'First');
  await project.push('main');
  const { timings } = await project.lastActivity('main');
  return { project, main: await project.address('main'), timings };
}

async function measureFirstPushes() {
  // What the machine does only once for all projects must not count for a push.
  await deployed(smallFiles);
  const times: number[] = [];
  for (let round = 0; round < firstPushes; round++) {
    const project = await openProject(person);
    await project.write(smallFiles, 'First');
    const main = await addressOf(project, 'main');
    times.push(
      await timed(async () => {
        const pushing = project.push('main');
        await untilAnswered(main, '/', 'here');
        pushing.catch(() => {});
      }),
    );
    await project.lastActivity('main');
  }
  noteSeconds('first push of a small Node.js app, to the first reply', times, targets.firstSeconds);
}

async function measureUnchangedPushes({ project }: { project: Project }) {
  const times: number[] = [];
  const timings: Record<string, number>[] = [];
  for (let round = 0; round < unchangedPushes; round++) {
    await project.write({}, `Nothing new ${round}`);
    times.push(await timed(() => project.push('main')));
    timings.push((await project.lastActivity('main')).timings);
  }
  noteSeconds('push of an unchanged tree, to its end', times, targets.unchangedSeconds);
  noteSteps('  of which', timings);
}

/** The middle of each step, the longest first; what takes next to nothing is left out. */
function noteSteps(what: string, all: readonly Record<string, number>[]) {
  const names = [...new Set(all.flatMap((timings) => Object.keys(timings)))];
  const middle = (name: string) => median(all.map((timings) => timings[name] ?? 0));
  const told = names.filter((name) => middle(name) >= 0.005).toSorted((a, b) => middle(b) - middle(a));
  note({ what, measured: told.map((name) => `${name} ${(middle(name) * 1000).toFixed(0)} ms`).join(', ') });
}

async function measureRedeployments({ project, main }: { project: Project; main: string }) {
  const { hostname, port } = new URL(main);
  for (const strategy of ['rolling', 'stopstart'] as const) {
    const loads = [true, false].map((keepAlive) => startLoad({ port: Number(port), host: hostname, clients, keepAlive }));
    const times: number[] = [];
    const timings: Record<string, number>[] = [];
    for (let round = 0; round < redeployments[strategy]; round++)
      times.push(await timed(async () => timings.push((await project.act('/environments/main/redeploy', { strategy })).timings)));
    const results = await Promise.all(loads.map((load) => load.stop()));
    const sum = (of: (result: (typeof results)[number]) => number) => results.reduce((total, result) => total + of(result), 0);
    const failed = sum(({ failures }) => failures.length);
    const longest = Math.max(...results.map(({ slowestMilliseconds }) => slowestMilliseconds));
    note({
      what: `${redeployments[strategy]} redeployments (${strategy}) with ${2 * clients} visitors`,
      measured: `${failed} of ${sum(({ replies }) => replies) + failed} requests failed; the longest took ${longest.toFixed(0)} ms; each ${seconds(times)}`,
      target: '0 failed',
      isMet: failed === 0,
    });
    noteSteps('  of which', timings);
    for (const { failures } of results) for (const failure of failures.slice(0, 5)) console.error(`  ${failure}`);
  }
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
const availableBytes = () => Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;

/** The memory that only this process holds, and its part of what it shares. */
function proportionalBytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1024;
  } catch {
    return 0;
  }
}

/** All that the kernel counts for its containers, but for files that it could drop at once. */
function countedBytes(stack: string): number {
  const groups = new Set(processesOfStack(stack).flatMap((pid) => memoryGroupOf(pid, stack) ?? []));
  return [...groups].reduce((total, group) => {
    const used = readFileSync(join(group, existsSync(join(group, 'memory.current')) ? 'memory.current' : 'memory.usage_in_bytes'), 'utf8');
    const droppable = /^(?:total_)?inactive_file (\d+)/m.exec(readFileSync(join(group, 'memory.stat'), 'utf8'))?.[1];
    return total + Number(used) - Number(droppable);
  }, 0);
}

function memoryGroupOf(pid: number, stack: string): string | undefined {
  const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  const [hierarchy, path] = /^\d+:memory:(.+)$/m.test(groups)
    ? ['memory', /^\d+:memory:(.+)$/m.exec(groups)?.[1]]
    : ['', /^0::(.+)$/m.exec(groups)?.[1]];
  return path?.includes(`/${stack}-`) ? join('/sys/fs/cgroup', hierarchy ?? '', path) : undefined;
}

async function measureMemory({ project }: { project: Project }) {
  const others = stacksIn(installation.data);
  for (let index = 0; index < idleEnvironments; index++) await project.act('/environments/main/branch', { name: `idle-${index}` });
  await sleep(restMilliseconds);
  const stacks = stacksIn(installation.data).filter((stack) => !others.includes(stack));
  const held = median(stacks.map((stack) => processesOfStack(stack).reduce((total, pid) => total + proportionalBytes(pid), 0)));
  const counted = median(stacks.map(countedBytes));
  note({
    what: 'memory of an idle environment (app, PostgreSQL, Redis)',
    measured: `${megabytes(held)} held by its ${processesOfStack(stacks[0] ?? '').length} processes; its containers are counted ${megabytes(counted)}`,
  });
  note({
    what: 'that fit beside what runs now',
    measured: `${Math.floor(availableBytes() / Math.max(held, counted))} more, in ${megabytes(availableBytes())} of memory`,
  });
  for (let index = 0; index < idleEnvironments; index++) await project.act(`/environments/idle-${index}/pause`);
  const left = stacks.flatMap(processesOfStack).length;
  note({ what: 'processes of a paused environment', measured: String(left / idleEnvironments), target: '0', isMet: left === 0 });
  for (let index = 0; index < idleEnvironments; index++) await removeEnvironment(project, `idle-${index}`);
}

async function removeEnvironment(project: Project, id: string) {
  await project.act(`/environments/${id}/deactivate`);
  await project.act(`/environments/${id}`, undefined, 'DELETE');
}

async function filled(gibibytes: number) {
  const stack = await deployed(fullFiles);
  let size = 0;
  const filling = await timed(async () => {
    for (const { from, to } of fillsFor(gibibytes * gibibyte)) {
      const { status, text } = await visit(new URL(`/?from=${from}&to=${to}`, stack.main).href, { method: 'POST' });
      if (status !== 200) throw new Error(`The database could not be filled: ${status} ${text}`);
      size = Number(text);
    }
  });
  console.error(`a database of ${(size / gibibyte).toFixed(2)} GiB was filled in ${filling.toFixed(0)} s`);
  return { ...stack, gibibytes, rows: await read(stack.main, '/rows'), times: [] as number[], timings: [] as Record<string, number>[] };
}

/** Counts all rows, which takes the longer the more there are. */
async function checkCount(project: Project, name: string) {
  const [main, branch] = await Promise.all(['main', name].map(async (id) => read(await project.address(id), '/count')));
  if (main !== branch) throw new Error(`The branch has ${branch} in place of ${main}`);
}

async function measureBranches() {
  const stacks = [await filled(1), await filled(5)];
  // In turns, so that whatever else the machine does slows both down alike. The first of each writes out what filling left in memory.
  for (let round = 0; round <= branchRounds; round++) {
    for (const { project, rows, times, timings, gibibytes } of stacks) {
      const name = `branch-${round}`;
      let activity = '';
      const time = await timed(async () => {
        const { _embedded } = await project.api('POST', '/environments/main/branch', { name });
        activity = _embedded.activities[0].id;
        await untilAnswered(await addressOf(project, name), '/rows', rows);
      });
      const ended = successful(await project.ending(activity));
      if (round === 0)
        note({ what: `  the first branch of ${gibibytes} GiB, right after they were written`, measured: `${time.toFixed(2)} s` });
      else {
        times.push(time);
        timings.push(ended.timings);
      }
      await checkCount(project, name);
      await removeEnvironment(project, name);
      await sleep(restMilliseconds);
    }
  }
  for (const { gibibytes, times, timings } of stacks) {
    noteSeconds(`branch with ${gibibytes} GiB in PostgreSQL, to the first reply with its rows`, times, targets.branchSeconds);
    noteSteps('  of which', timings);
  }
  const [one = NaN, five = NaN] = stacks.map(({ times }) => median(times));
  note({
    what: '5 GiB against 1 GiB',
    measured: (five / one).toFixed(2),
    target: `< ${targets.fiveToOne}`,
    isMet: five / one < targets.fiveToOne,
  });
}

await measureFirstPushes();
const full = await deployed(fullFiles);
await measureUnchangedPushes(full);
await measureRedeployments(full);
await measureMemory(full);
await measureBranches();
printTable();
