/**
 * The machine that environments run on: opened with the first thing that needs it, so that a process which only answers requests, or a test
 * which runs nothing, has none.
 */
import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Edge } from './drivers/edge/edge.ts';
import { openEdge } from './drivers/edge/open-edge.ts';
import type { ListenAddress } from '../edge/process/settings.ts';
import { withFileLock } from './drivers/file-lock.ts';
import { authorityVariables, trustedAuthorities } from './drivers/authorities.ts';
import { openImages } from './drivers/images/cached-images.ts';
import { imageTypes } from './catalogue/catalogue.ts';
import type { Images } from './drivers/images/images.ts';
import { openOutbound } from './drivers/outbound/outbound.ts';
import { ensureLogsFolder } from './drivers/logs/log-folders.ts';
import { openRuncInside, openRuncRuntime } from './drivers/runtime/runc/runc.ts';
import type { TracesEndpoint } from './drivers/otlp/reporter.ts';
import type { Runtime } from './drivers/runtime/runtime.ts';
import { openVolumes, volumesFolder } from './drivers/volumes/open-volumes.ts';
import type { Volumes } from './drivers/volumes/volumes.ts';
import { Problem } from './kernel/problem.ts';
import type { Log } from './kernel/log.ts';

export interface Machine {
  runtime: Runtime;
  images: Images;
  volumes: Volumes;
  edge: Edge;
  /** Whether the edge ends TLS. */
  tls: boolean;
  /** The folder of the logs of all environments. */
  logs: string;
  /** Where containers report traces. Undefined: nowhere. */
  traces?: TracesEndpoint | undefined;
}

/** What a process can use without having claimed the machine: containers are found by name. */
export type Inside = Pick<Runtime, 'exec' | 'state'>;

export interface LazyMachine {
  get(): Promise<Machine>;
  /** The edge alone, which the platform itself is reached through: it is there before anything runs, and also where only root could run something. */
  edge(): Promise<Edge>;
  inside(): Promise<Inside>;
  /** Of all processes of an installation that carry out work, one has the machine; when it ends, another takes over. Settles once this process has it. */
  claim(): Promise<void>;
  isOurs(): boolean;
  /** Settles once the machine was opened in this process. */
  readonly opened: Promise<Machine>;
  /** Releases the machine; what runs on it goes on. */
  close(): Promise<void>;
}

export function lazyMachine(config: Config, log: Log, traces?: TracesEndpoint): LazyMachine {
  let opening: Promise<Machine> | undefined;
  let openingEdge: Promise<Edge> | undefined;
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
  const requireOurs = () => {
    if (!isOurs) throw new Error('Another process of this installation has the machine.');
  };
  const open = async () => {
    requireOurs();
    requireRoot();
    const machine = { ...(await openMachine(config, log, edge)), traces };
    opened.resolve(machine);
    return machine;
  };
  const openEdgeAlone = async () => {
    requireOurs();
    return openEdgeOf(config, log);
  };
  /** The next caller tries again, because what was in the way may be gone. */
  const edge = () =>
    (openingEdge ??= openEdgeAlone().catch((error: unknown) => {
      openingEdge = undefined;
      throw error;
    }));
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
        opening = undefined;
        throw error;
      })),
    edge,
    close: async () => {
      const machine = await opening?.catch(() => undefined);
      await (await openingEdge?.catch(() => undefined))?.close();
      await machine?.runtime.close();
      await machine?.volumes.close();
      closing.abort();
      await holding;
    },
  };
}

export const edgeFolder = ({ data }: Pick<Config, 'data'>) => join(data, 'edge');

/** Exported for processes that only read logs, and do not have the machine. */
export const logsFolder = ({ data }: Pick<Config, 'data'>) => join(data, 'logs');

/** Where the edge listens. Over plain HTTP it answers authorities that want a proof, and leads everybody else to https. */
const listenersOf = ({ host, tls, edge }: Config): ListenAddress[] => [
  { host, port: edge.port, scheme: 'http' },
  ...(tls ? [{ host, port: edge.httpsPort, scheme: 'https' as const }] : []),
];

const openEdgeOf = async (config: Config, log: Log): Promise<Edge> =>
  openEdge(
    {
      folder: edgeFolder(config),
      logs: logsFolder(config),
      volumes: await volumesFolder(config),
      listeners: listenersOf(config),
      processes: config.edge.processes,
      trustedProxies: config.trustedProxies,
      routerName: config.region.id,
    },
    log,
  );

/** Opens all parts or none: a part that stayed open would be in the way of the next attempt. The edge is not one of them, as it may be in use by now. */
async function openMachine(config: Config, log: Log, edgeAlone: () => Promise<Edge>): Promise<Machine> {
  const { data, allowPrivateAddresses } = config;
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
    const outbound = openOutbound(config);
    const images = openImages(config.images, imageTypes, { authorities, outbound, plainRegistries: config.plainRegistries });
    const edge = await edgeAlone();
    await edge.showVolumes();
    return { volumes, runtime, images, logs: logsFolder(config), edge, tls: config.tls };
  } catch (error) {
    for (const part of opened) await part.close();
    throw error;
  }
}
