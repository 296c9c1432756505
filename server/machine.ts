/**
 * The machine that environments run on: opened with the first thing that needs it, so that a process which only answers requests, or a test
 * which runs nothing, has none.
 */
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Edge } from './drivers/edge/edge.ts';
import { openEdge } from './drivers/edge/open-edge.ts';
import { withFileLock } from './drivers/file-lock.ts';
import { authorityVariables, trustedAuthorities } from './drivers/authorities.ts';
import { openImages } from './drivers/images/cached-images.ts';
import { catalogue } from './catalogue/catalogue.ts';
import type { Images } from './drivers/images/images.ts';
import { ensureLogsFolder } from './drivers/logs/log-folders.ts';
import { openRuncInside, openRuncRuntime } from './drivers/runtime/runc/runc.ts';
import type { Runtime } from './drivers/runtime/runtime.ts';
import { openVolumes } from './drivers/volumes/open-volumes.ts';
import type { Volumes } from './drivers/volumes/volumes.ts';
import { Problem } from './kernel/problem.ts';
import type { Log } from './kernel/log.ts';

export interface Machine {
  runtime: Runtime;
  images: Images;
  volumes: Volumes;
  edge: Edge;
  /** The folder of the logs of all environments. */
  logs: string;
}

/** What a process can use without having claimed the machine: containers are found by name. */
export type Inside = Pick<Runtime, 'exec' | 'state'>;

export interface LazyMachine {
  get(): Promise<Machine>;
  inside(): Promise<Inside>;
  /** Of all processes of an installation that carry out work, one has the machine; when it ends, another takes over. Settles once this process has it. */
  claim(): Promise<void>;
  isOurs(): boolean;
  /** Settles once the machine was opened in this process. */
  readonly opened: Promise<Machine>;
  /** Releases the machine; what runs on it goes on. */
  close(): Promise<void>;
}

export function lazyMachine(config: Config, log: Log): LazyMachine {
  let opening: Promise<Machine> | undefined;
  const opened = Promise.withResolvers<Machine>();
  let inside: Inside | undefined;
  let isOurs = false;
  const ours = Promise.withResolvers<void>();
  const closing = new AbortController();
  let holding: Promise<void> | undefined;
  const hold = () => {
    isOurs = true;
    ours.resolve();
    return new Promise<void>((resolve) => closing.signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  const requireRoot = () => {
    if (process.getuid?.() !== 0)
      throw new Problem('unavailable', 'Environments run in containers, which only root can start: start the platform as root.');
  };
  const open = async () => {
    if (!isOurs) throw new Error('Another process of this installation has the machine.');
    requireRoot();
    const machine = await openMachine(config, log);
    opened.resolve(machine);
    return machine;
  };
  return {
    claim: () => {
      holding ??= withFileLock(join(config.data, 'machine.lock'), closing.signal, hold).catch((error: unknown) => {
        if (!closing.signal.aborted) throw error;
      });
      return ours.promise;
    },
    isOurs: () => isOurs,
    opened: opened.promise,
    inside: async () => {
      requireRoot();
      return (inside ??= openRuncInside(join(config.data, 'runtime')));
    },
    get: () =>
      (opening ??= open().catch((error: unknown) => {
        // The next caller tries again, because what was in the way may be gone.
        opening = undefined;
        throw error;
      })),
    close: async () => {
      const machine = await opening?.catch(() => undefined);
      await machine?.edge.close();
      await machine?.runtime.close();
      await machine?.volumes.close();
      closing.abort();
      await holding;
    },
  };
}

/** Exported for processes that only read logs, and do not have the machine. */
export const logsFolder = ({ data }: Pick<Config, 'data'>) => join(data, 'logs');

/** Opens all parts or none: a part that stayed open would be in the way of the next attempt. */
async function openMachine(config: Config, log: Log): Promise<Machine> {
  const { data, host, trustedProxies, allowPrivateAddresses } = config;
  const opened: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    opened.unshift(part);
    return part;
  };
  try {
    await ensureLogsFolder(logsFolder(config));
    const volumes = keep(await openVolumes(config, (sentence) => log.warn(sentence)));
    const authorities = trustedAuthorities(config.caCertificates);
    const runtime = keep(
      await openRuncRuntime({
        folder: join(data, 'runtime'),
        volumes,
        env: authorityVariables(authorities),
        allowPrivateAddresses,
        tell: (sentence) => log.warn(sentence),
      }),
    );
    const images = openImages(config.images, catalogue, { authorities });
    const edge = await openEdge(
      {
        folder: join(data, 'edge'),
        logs: logsFolder(config),
        volumes: volumes.folder,
        listeners: [{ host, port: config.edge.port, scheme: 'http' }],
        processes: config.edge.processes,
        trustedProxies,
        routerName: config.region.id,
      },
      log,
    );
    return { volumes, runtime, images, logs: logsFolder(config), edge };
  } catch (error) {
    for (const part of opened) await part.close();
    throw error;
  }
}
