/**
 * Several volumes as they are at one moment, while they are written to. Services are asked to put on disk what they have acknowledged; where more than
 * one volume is concerned, or where the file system cannot copy what is written to, everything that writes to them is frozen meanwhile.
 *
 * Nothing stays frozen: the runtime thaws what a process froze that was killed. Should that fail, too: a lock in PostgreSQL is held as long as somebody here
 * freezes, and goes with the process that holds it. What is found frozen while nobody has the lock was forgotten, and is thawed by whoever finds it.
 */
import { sql } from 'kysely';
import type { ServiceCommand } from '../../../catalogue/service.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { allInstancesOf, servicesOf, type WantedService } from '../stack/containers.ts';
import { runInside } from '../inside/inside.ts';
import type { Deployed } from '../queries.ts';

/** Copies that share data take no time; plain copies take longer the more data there is. */
const frozenSecondsMax = { shared: 20, copied: 900 };
const quiesceSecondsMax = 60;

export async function asOfOneMoment<T>(
  { db }: Pick<Platform, 'db'>,
  machine: Machine,
  { stack, generations }: Deployed,
  volumes: readonly string[],
  take: () => Promise<T>,
): Promise<T> {
  const concerned = servicesOf(stack).filter(({ volume }) => volume !== undefined && volumes.includes(volume));
  const writers = [...concerned.map(({ container }) => container), ...allInstancesOf(stack, generations)]
    .filter(({ mounts }) => mounts.some(({ volume }) => volumes.includes(volume)))
    .map(({ name }) => name);
  const mustFreeze = volumes.length > 1 || !machine.volumes.clonesWhileWritten;
  return whileHolding(db, stack.id, async () => {
    await thaw(machine, writers);
    const running = concerned.filter(({ container }) => writers.includes(container.name));
    try {
      await tell(machine, running, ({ service }) => service.quiesce);
      return mustFreeze ? await whileFrozen(machine, writers, take) : await take();
    } finally {
      await tell(machine, running, ({ service }) => service.resume);
    }
  });
}

/** Has services put on disk what they have acknowledged, while everything goes on, so that there is less to wait for at the moment of the copy. */
export async function putOnDisk(machine: Machine, { stack }: Deployed, volumes: readonly string[]): Promise<void> {
  const concerned = servicesOf(stack).filter(({ volume }) => volume !== undefined && volumes.includes(volume));
  try {
    await tell(machine, concerned, ({ service }) => service.quiesce);
  } finally {
    await tell(machine, concerned, ({ service }) => service.resume);
  }
}

async function tell(
  { runtime }: Machine,
  services: readonly WantedService[],
  commandsOf: (service: WantedService) => readonly ServiceCommand[],
) {
  const tellService = async (service: WantedService) => {
    if ((await runtime.state(service.container.name)).status !== 'running') return;
    for (const command of commandsOf(service)) {
      const since = new Date();
      const { code, said } = await runInside(runtime, service.container.name, command, { secondsMax: quiesceSecondsMax });
      if (code === 0) continue;
      const reason = await reasonOf(runtime, service.container.name, since, said);
      throw new Problem('unavailable', `Service '${service.name}' could not be made ready for a copy of its data: ${reason}`, {
        internal: said,
      });
    }
  };
  await Promise.all(services.map(tellService));
}

const diskIsFull = /No space left on device|Disk quota exceeded/i;
const reasonLinesMax = 50;

/** The reason of a failure. It is looked for in the service's log, too, because many services give it only there. */
async function reasonOf(runtime: Machine['runtime'], container: string, since: Date, said: string): Promise<string> {
  const lines = [said];
  for await (const { text } of runtime.logs(container, { since, tail: reasonLinesMax })) lines.push(text);
  if (lines.some((line) => diskIsFull.test(line))) return 'its disk is full. Give it more disk, and try again.';
  return `${said.trim().split('\n').at(-1) || 'it did not say why'}. Try again.`;
}

async function whileFrozen<T>(machine: Machine, writers: readonly string[], take: () => Promise<T>): Promise<T> {
  const { runtime, volumes } = machine;
  const seconds = volumes.clonesWhileWritten ? frozenSecondsMax.shared : frozenSecondsMax.copied;
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    void thaw(machine, writers);
  }, seconds * 1000);
  try {
    const states = await Promise.all(writers.map((name) => runtime.state(name)));
    await Promise.all(states.filter(({ status }) => status === 'running').map(({ name }) => runtime.pause(name)));
    const taken = await take();
    if (isLate)
      throw new Problem(
        'unavailable',
        `Copying the data took longer than ${seconds} seconds, so the copies are not of one and the same moment; try again.`,
      );
    return taken;
  } finally {
    clearTimeout(late);
    await thaw(machine, writers);
  }
}

/** Thaws those containers that are frozen. */
async function thaw({ runtime }: Machine, names: readonly string[]): Promise<string[]> {
  const states = await Promise.all(names.map((name) => runtime.state(name)));
  const frozen = states.filter(({ status }) => status === 'paused').map(({ name }) => name);
  await Promise.all(frozen.map((name) => runtime.resume(name)));
  return frozen;
}

const lockOf = (stackId: string) => sql`hashtextextended(${`frozen ${stackId}`}, 0)`;

const whileHolding = <T>(db: Db, stackId: string, work: () => Promise<T>): Promise<T> =>
  db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${lockOf(stackId)})`.execute(connection);
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${lockOf(stackId)})`.execute(connection);
    }
  });

/** Thaws what a killed process froze, and leaves alone what a live one is working on. */
export const thawForgotten = (db: Db, machine: Machine, stackId: string, names: readonly string[]): Promise<string[]> =>
  db.connection().execute(async (connection) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_lock(${lockOf(stackId)}) as mine`.execute(connection);
    if (!rows[0]?.mine) return [];
    try {
      return await thaw(machine, names);
    } finally {
      await sql`select pg_advisory_unlock(${lockOf(stackId)})`.execute(connection);
    }
  });
