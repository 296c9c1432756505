/** How apps and workers are started in their containers, and where apps listen then. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runtimeOfType, versionOfType } from '../../../catalogue/catalogue.ts';
import type { Container, Limits } from '../../../drivers/runtime/runtime.ts';
import type { App, PhpRuntime, SlugImage, WorkerDocument } from '../../builds/public.ts';
import { appPort, portOf } from './relationships.ts';
import { appSocket } from './runtime-variables.ts';
import type { Stack } from './stack.ts';

const startSecondsMax = 120;

const script = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
const launchScript = script('launch.sh');
const launchPhpScript = script('launch-php.sh');

/** An app is ready when it listens where it was told to. Workers listen nowhere. */
export function listeningOf(stack: Pick<Stack, 'slugs'>, runnable: App | WorkerDocument): Pick<Container, 'probe' | 'socket'> {
  if (!('web' in runnable)) return {};
  return listensOnSocket(runnable)
    ? { socket: appSocket, probe: { kind: 'socket', secondsMax: startSecondsMax } }
    : { probe: { kind: 'port', port: portOf(stack, runnable), secondsMax: startSecondsMax } };
}

export const listensOnSocket = ({ web }: App) => web.upstream.socket_family === 'unix';

export function launchOf({ slugs }: Pick<Stack, 'slugs'>, runnable: App | WorkerDocument, limits: Limits): [string, ...string[]] {
  const { pre_start, start } = 'web' in runnable ? runnable.web.commands : runnable.worker.commands;
  if (start !== null) return ['dash', '-c', launchScript, 'launch', pre_start ?? '', start];
  const image = slugs[runnable.name]?.image;
  if (image) return launchOfImage(pre_start, image);
  const { children, requestSeconds } = phpSizing(runnable.runtime, limits);
  const program = runtimeOfType(runnable.type)?.fastcgi?.program(versionOfType(runnable.type)) ?? '';
  const listen = 'web' in runnable && listensOnSocket(runnable) ? appSocket : `0.0.0.0:${appPort}`;
  return ['dash', '-c', launchPhpScript, 'launch', pre_start ?? '', program, listen, children, requestSeconds];
}

/** As the image itself says; what is to be done before is done by a shell that the image then replaces. */
function launchOfImage(pre_start: string | null, { entrypoint, cmd }: SlugImage): [string, ...string[]] {
  const [program = 'true', ...args] = [...entrypoint, ...cmd];
  return pre_start === null
    ? [program, ...args]
    : ['dash', '-c', 'dash -c "$1" || exit; shift; exec "$@"', 'launch', pre_start, program, ...args];
}

const phpUsual = { request_memory: 45, reserved_memory: 70, requestSeconds: 300, childrenMin: 2 };

/** PHP handles as many requests at once as fit into the memory. It is told so when it starts, so a new size needs a new container. */
function phpSizing(runtime: PhpRuntime | Record<string, never>, { memoryBytes }: Limits) {
  const { request_memory, reserved_memory } = 'sizing_hints' in runtime ? runtime.sizing_hints : phpUsual;
  const seconds = 'request_terminate_timeout' in runtime ? runtime.request_terminate_timeout : null;
  const children = Math.floor((memoryBytes / 2 ** 20 - reserved_memory) / request_memory);
  return { children: String(Math.max(phpUsual.childrenMin, children)), requestSeconds: String(seconds ?? phpUsual.requestSeconds) };
}
