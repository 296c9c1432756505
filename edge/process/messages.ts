/**
 * What the processes of the edge tell each other: the main process and those that serve, and a main process and its successor. Either may be of a
 * newer version than the other for as long as an upgrade takes, so a message is only ever added to, and one that is not known is ignored.
 */
import type { EventEmitter } from 'node:events';
import type { AnsweredRequests } from './answered-requests.ts';
import type { ToldBatch } from '../logs/records.ts';
import type { LastVisits } from '../routing/last-visits.ts';
import type { EdgeEnvironment } from '../routing/table.ts';
import type { EdgeCertificate } from '../tls/certificate.ts';
import type { Challenges } from '../tls/challenges.ts';

/** To a process that serves; the predecessor takes them too, and passes them on to its own. */
export interface Asks {
  put: { ask: { environments: EdgeEnvironment[] }; answer: undefined };
  remove: { ask: { clusters: string[] }; answer: undefined };
  put_certificates: { ask: { certificates: EdgeCertificate[] }; answer: undefined };
  remove_certificates: { ask: { ids: string[] }; answer: undefined };
  /** All that are open. */
  challenge: { ask: Challenges; answer: undefined };
  /** How many requests were left at the instance. */
  drain: { ask: { cluster: string; instance: string; seconds_max: number }; answer: number };
  status: { ask: object; answer: ProcessStatus };
  visits: { ask: object; answer: LastVisits };
  listen: { ask: object; answer: undefined };
  /** From a process that serves. Answered when whoever reads them has room for more: whether anybody does. */
  record_batch: { ask: ToldBatch; answer: boolean };
  /** Of a successor: that it has loaded the table from disk and its processes are there; answered with what has changed since it was started. */
  take_over: { ask: object; answer: { changed: string[] } };
}

export interface ProcessStatus {
  pid: number;
  connections: number;
  outstanding: number;
  answered: AnsweredRequests;
  records_dropped: number;
  log_lines_dropped: number;
  memory_bytes: number;
}

/** What needs no answer. */
export interface Tellings {
  wake: { cluster: string };
  records_wanted: { wanted: boolean };
  /** Whoever writes to a log says that it is full. */
  log_full: { file: string };
  /** Of a process that met a bug: it accepts no more and ends when what runs has finished. */
  failing: object;
  /** Accept no more, let what runs finish, end. */
  finish: { seconds_max: number };
  /** Of a successor: it holds the control socket, and its processes listen. */
  taken_over: object;
}

type Answerers = { [K in keyof Asks]?: (ask: Asks[K]['ask']) => Promise<Asks[K]['answer']> | Asks[K]['answer'] };
type Listeners = { [K in keyof Tellings]?: (telling: Tellings[K]) => void };

export interface Channel {
  /** Rejects when the other side is gone, fails, or does not answer in time. */
  ask<K extends keyof Asks>(kind: K, ask: Asks[K]['ask'], secondsMax?: number): Promise<Asks[K]['answer']>;
  tell<K extends keyof Tellings>(kind: K, telling: Tellings[K]): void;
  readonly isOpen: boolean;
}

/** A child process, or `process` itself in a child. */
export interface Line extends EventEmitter {
  connected?: boolean;
  send?(message: unknown, sendHandle: undefined, options: undefined, callback: (error: Error | null) => void): boolean;
}

export class Gone extends Error {}
export class NoAnswer extends Error {}

const answerSecondsMax = 15;

interface Message {
  kind: string;
  /** Of an ask and of its answer. */
  id?: number;
  body: unknown;
  failure?: string;
}

export function openChannel(line: Line, answerers: Answerers, listeners: Listeners): Channel {
  const waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  let asked = 0;
  let isOpen = true;
  const send = (message: Message) => {
    if (!isOpen || !line.connected) return;
    line.send?.(message, undefined, undefined, () => {});
  };

  const answer = async ({ kind, id, body }: Message) => {
    const answerer = Reflect.get(answerers, kind) as ((ask: unknown) => unknown) | undefined;
    try {
      if (!answerer) throw new Error(`${kind} is not known here`);
      send({ kind: 'answer', ...(id !== undefined && { id }), body: await answerer(body) });
    } catch (error) {
      send({
        kind: 'answer',
        ...(id !== undefined && { id }),
        body: undefined,
        failure: error instanceof Error ? error.message : String(error),
      });
    }
  };

  line.on('message', (message: Message) => {
    if (message.kind === 'answer') {
      const asker = waiting.get(message.id ?? -1);
      if (message.failure === undefined) asker?.resolve(message.body);
      else asker?.reject(new Error(message.failure));
    } else if (message.id !== undefined) void answer(message);
    else (Reflect.get(listeners, message.kind) as ((telling: unknown) => void) | undefined)?.(message.body);
  });
  line.once('disconnect', () => {
    isOpen = false;
    for (const { reject } of waiting.values()) reject(new Gone('The other process is gone'));
  });

  return {
    get isOpen() {
      return isOpen;
    },
    tell: (kind, body) => send({ kind, body }),
    ask(kind, body, secondsMax = answerSecondsMax) {
      const id = asked++;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const timer = setTimeout(() => reject(new NoAnswer(`No answer to ${kind} in ${secondsMax} seconds`)), secondsMax * 1000);
      waiting.set(id, { resolve, reject });
      if (isOpen) send({ kind, id, body });
      else reject(new Gone('The other process is gone'));
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(id);
      }) as Promise<Asks[typeof kind]['answer']>;
    },
  };
}
