/** What processes of the platform and the process of the store say to each other, over a Unix socket in the folder of the store. */
import { join } from 'node:path';
import type { StoreOptions, Store } from './store.ts';

/** What can be asked of the store; each takes one argument. */
export const callNames = ['append', 'breakdown', 'topSpans', 'traffic', 'facets', 'resources', 'usage'] as const;
export type CallName = (typeof callNames)[number];

export interface Call<N extends CallName = CallName> {
  kind: 'call';
  id: number;
  name: N;
  argument: Parameters<Store[N]>[0];
}

/** `leave`: whoever says so asks nothing more; the connection is ended for it, by the last one's when the files are closed. */
export type Request = Call | { kind: 'leave' };

export type Reply =
  | { kind: 'ready'; pid: number }
  | { kind: 'answer'; id: number; answer: unknown }
  | { kind: 'failure'; id: number; message: string; isNoRoom: boolean };

export interface ProcessTask extends StoreOptions {
  tidyMilliseconds: number;
  /** How long the store stays after the last process has gone without a word, as one that was killed and will be back. */
  lingerMilliseconds: number;
}

export const socketIn = (folder: string) => join(folder, 'store.sock');
export const lockIn = (folder: string) => join(folder, 'lock');

export function isRequest(message: unknown): message is Request {
  if (message === null || typeof message !== 'object' || !('kind' in message)) return false;
  if (message.kind === 'leave') return true;
  return (
    message.kind === 'call' &&
    'id' in message &&
    typeof message.id === 'number' &&
    'name' in message &&
    callNames.some((name) => name === message.name)
  );
}
