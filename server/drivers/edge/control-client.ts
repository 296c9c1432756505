/** The other end of edge/process/control.ts. */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { json as jsonOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../kernel/problem.ts';

export interface ControlClient {
  /** Asks again for a while where nobody answers. */
  ask(method: string, path: string, body?: unknown, secondsMax?: number): Promise<unknown>;
  /** Undefined where nobody answers. */
  tryOnce(method: string, path: string, secondsMax: number): Promise<unknown>;
  /** Lines of JSON until the other side ends them, or `signal` does. */
  lines(path: string, signal: AbortSignal): AsyncGenerator;
  /** The same of bytes. */
  bytes(path: string, signal: AbortSignal): AsyncGenerator<Buffer>;
  close(): void;
}

const returnSecondsMax = 20;
const answerSecondsMax = 60;
const againMilliseconds = 50;
const connectionsMax = 8;

/** No edge is there, or it has just gone. */
class Absent extends Error {}

export function openControlClient(socket: string): ControlClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });

  const send = async (method: string, path: string, body: unknown, secondsMax: number): Promise<unknown> => {
    const response = await connect(socket, agent, method, path, body, AbortSignal.timeout(secondsMax * 1000));
    const reply = (await jsonOf(response).catch((cause: unknown) => {
      throw new Absent('The reply broke off', { cause });
    })) as { error?: string; fields?: Record<string, string> };
    if (response.statusCode === 200) return reply;
    if (response.statusCode === 503) throw new Absent(reply.error);
    if (response.statusCode === 400)
      throw new Problem('invalid-request', `The edge refuses this. ${reply.error}`, { ...(reply.fields && { fields: reply.fields }) });
    throw new Problem('unavailable', 'The edge could not do this; try again in a moment.', {
      internal: `${method} ${path}: ${reply.error}`,
    });
  };

  return {
    async ask(method, path, body, secondsMax = answerSecondsMax) {
      const deadline = performance.now() + returnSecondsMax * 1000;
      for (;;) {
        try {
          return await send(method, path, body, secondsMax);
        } catch (cause) {
          if (!(cause instanceof Absent)) throw cause;
          if (performance.now() > deadline)
            throw new Problem('unavailable', 'The edge does not answer; try again in a moment.', { cause, internal: `${method} ${path}` });
          await sleep(againMilliseconds);
        }
      }
    },
    async tryOnce(method, path, secondsMax) {
      try {
        return await send(method, path, undefined, secondsMax);
      } catch (error) {
        if (error instanceof Absent) return undefined;
        throw error;
      }
    },
    async *lines(path, signal) {
      try {
        const response = await connect(socket, undefined, 'GET', path, undefined, signal);
        response.on('error', () => {});
        for await (const line of createInterface({ input: response, crlfDelay: Infinity })) yield JSON.parse(line);
      } catch (error) {
        if (!signal.aborted && !isAbsence(error)) throw error;
      }
    },
    async *bytes(path, signal) {
      try {
        const response = await connect(socket, undefined, 'GET', path, undefined, signal);
        response.on('error', () => {});
        // One of an earlier version has something else to say, and will be gone in a moment.
        if (response.headers['content-type'] !== 'application/octet-stream') return void response.destroy();
        for await (const piece of response) yield piece as Buffer;
      } catch (error) {
        if (!signal.aborted && !isAbsence(error)) throw error;
      }
    },
    close: () => agent.destroy(),
  };
}

const absences = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ABORT_ERR']);
const isAbsence = (error: unknown) =>
  error instanceof Absent || (error instanceof Error && 'code' in error && absences.has(String(error.code)));

function connect(socket: string, agent: Agent | undefined, method: string, path: string, body: unknown, signal: AbortSignal) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise<IncomingMessage>((resolve, reject) => {
    const headers = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    httpRequest({ socketPath: socket, method, path, headers, signal, ...(agent && { agent }) }, resolve)
      .on('error', (cause) => reject(isAbsence(cause) ? new Absent('Nobody is at the control socket', { cause }) : cause))
      .end(text);
  });
}
