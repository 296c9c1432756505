/** What a visitor of an environment gets: a request to the edge, with the host name of the address. */
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Longer than the edge keeps anybody waiting: what it has to say is heard. */
const answerSecondsMax = 150;

export interface Visit {
  status: number;
  text: string;
  bytes: Buffer;
  headers: Record<string, string | string[] | undefined>;
}

export interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export function visit(address: string, { method = 'GET', headers = {}, body }: Request = {}): Promise<Visit> {
  const { protocol, hostname, port, pathname, search } = new URL(address);
  const request = protocol === 'https:' ? requestSecure : requestPlain;
  return new Promise((resolve, reject) => {
    request({
      host: '127.0.0.1',
      port,
      servername: hostname,
      method,
      path: `${pathname}${search}`,
      headers: { host: hostname, ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      signal: AbortSignal.timeout(answerSecondsMax * 1000),
    })
      .on('error', reject)
      .on('response', (response) => {
        buffer(response).then((bytes) => {
          resolve({ status: response.statusCode ?? 0, text: bytes.toString('utf8'), bytes, headers: response.headers });
        }, reject);
      })
      .end(body);
  });
}

/** Visits again and again, several at a time, until stopped; every answer that is not as expected is kept. */
export function visitConstantly(address: string, isGood: (visit: Visit) => boolean, { visitors = 4, pauseMilliseconds = 0 } = {}) {
  const stopping = new AbortController();
  let count = 0;
  const failures: string[] = [];
  const failuresToldMax = 20;
  const one = async () => {
    while (!stopping.signal.aborted) {
      const result = await visit(address).catch((error: Error) => error);
      count += 1;
      if (result instanceof Error) failures.push(result.message);
      else if (!isGood(result)) failures.push(`${result.status} ${result.text.slice(0, 200)}`);
      if (pauseMilliseconds > 0) await sleep(pauseMilliseconds);
    }
  };
  const all = Array.from({ length: visitors }, one);
  const stop = async () => {
    stopping.abort();
    await Promise.all(all);
    return { count, failures: failures.slice(0, failuresToldMax) };
  };
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}
