/** What the platform and the process of the store say to each other. */
import type { StoreOptions, Store } from './store.ts';

/** What can be asked of the store; each takes one argument. */
export const callNames = ['append', 'breakdown', 'topSpans', 'traffic', 'resources', 'usage'] as const;
export type CallName = (typeof callNames)[number];

export interface Call<N extends CallName = CallName> {
  id: number;
  name: N;
  argument: Parameters<Store[N]>[0];
}

export type Reply =
  | { kind: 'ready' }
  | { kind: 'answer'; id: number; answer: unknown }
  | { kind: 'failure'; id: number; message: string; isNoRoom: boolean };

export interface ProcessTask extends StoreOptions {
  tidyMilliseconds: number;
}
