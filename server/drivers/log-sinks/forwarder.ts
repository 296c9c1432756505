/**
 * Keeps as many forwardings as are wanted, each with its place in the logs: one for each sink and environment. They share the number of batches that may be under way, by
 * the parties that they are for, so that memory and connections are bounded however many there are, and one party's slow sinks keep nobody else's waiting.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fairLimit } from '../../kernel/fair-limit.ts';
import { limit } from '../../kernel/limits.ts';
import { forwardLogs, type Forwarding, type ForwardingEvent } from './forward-logs.ts';
import type { RecordContext } from './log-record.ts';
import type { SinkNetwork } from './log-sink.ts';
import { openSink, type SinkSettings } from './open-sink.ts';
import { takenIn, type Taken } from './positions.ts';

export interface ForwardingTask {
  /** Tells it from all others; the file that keeps how far it has come has this name. */
  name: string;
  /** On whose behalf. */
  party: string;
  logs: string;
  settings: SinkSettings;
  context: RecordContext;
  excludedServices: readonly string[];
  isRedacted: boolean;
  isFromBeginning: boolean;
}

export type ForwarderEvent = ForwardingEvent | { is: 'sent'; records: number };

export interface Forwarder {
  /** Settles when these are forwarded and no others. What is not wanted any more is forgotten: if it is wanted again, it begins anew. */
  want(tasks: readonly ForwardingTask[]): Promise<void>;
  /** What is under way is given up, to be sent again next time. */
  close(): Promise<void>;
}

export interface ForwarderOptions {
  /** Where files keep how far each has come. */
  folder: string;
  network: SinkNetwork;
  tell(name: string, event: ForwarderEvent): void;
}

/** A batch takes a few megabytes, and a connection. */
const batchesMax = 16;
const batchesOfPartyMax = 8;

export function openForwarder({ folder, network, tell }: ForwarderOptions): Forwarder {
  const places = fairLimit({ total: batchesMax, most: [batchesOfPartyMax], newcomers: batchesMax });
  const running = new Map<string, { written: string; forwarding: Forwarding }>();
  const oneAtATime = limit(1);

  const begin = async (task: ForwardingTask) => {
    const { name, party, settings, ...rest } = task;
    const forwarding = await forwardLogs({
      ...rest,
      positions: join(folder, name),
      sink: openSink(settings, network),
      tell: (event) => tell(name, event),
      onSent: (records) => tell(name, { is: 'sent', records }),
      place: (work, signal) => places.within({ parties: [party], signal }, work),
    });
    running.set(name, { written: JSON.stringify(task), forwarding });
  };
  const end = async (name: string) => {
    const ended = running.get(name);
    running.delete(name);
    await ended?.forwarding.close();
  };
  const become = async (tasks: readonly ForwardingTask[]) => {
    const written = new Map(tasks.map((task) => [task.name, JSON.stringify(task)]));
    const others = [...running].filter(([name, task]) => written.get(name) !== task.written);
    await Promise.all(others.map(([name]) => end(name)));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await forgetOthers(folder, written);
    for (const task of tasks.filter(({ name }) => !running.has(name)))
      // One that cannot begin keeps no other from doing so; it is tried again when it is wanted again.
      await begin(task).catch((error: unknown) => tell(task.name, { is: 'trouble', why: `It cannot begin: ${String(error)}` }));
  };
  return {
    want: (tasks) => oneAtATime(() => become(tasks)),
    close: () => oneAtATime(async () => void (await Promise.all([...running.keys()].map(end)))),
  };
}

/** What was counted of those that end is kept until somebody has added it up, under a name that does not come back. */
export async function forgetOthers(folder: string, wanted: ReadonlyMap<string, unknown>): Promise<void> {
  const files = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const { name } of files.filter((each) => each.isFile() && !wanted.has(each.name))) {
    const taken = await takenIn(join(folder, name));
    if (taken && !name.endsWith('.new')) {
      await mkdir(join(folder, endedFolder), { recursive: true, mode: 0o700 });
      await rename(join(folder, name), join(folder, endedFolder, `${taken.generation}-${name}`));
    } else await rm(join(folder, name), { force: true });
  }
}

const endedFolder = 'ended';

export interface Counted extends Taken {
  name: string;
  /** The file, where the forwarding has ended: whoever has added up what it says removes it. */
  ended?: string;
}

/** What sinks took of each forwarding, of those that go on and of those that ended. */
export async function countedIn(folder: string): Promise<Counted[]> {
  const counted: Counted[] = [];
  for (const ended of [false, true]) {
    const at = ended ? join(folder, endedFolder) : folder;
    for (const name of await readdir(at).catch(() => [])) {
      const file = join(at, name);
      const taken = name.endsWith('.new') || (!ended && name === endedFolder) ? undefined : await takenIn(file);
      if (taken) counted.push({ ...taken, ...(ended ? { name: name.slice(taken.generation.length + 1), ended: file } : { name }) });
    }
  }
  return counted;
}
