/** A sink behind an HTTP address: one compressed POST for each batch, and what its reply means. Each such sink says how it writes a batch, and may know its own replies better. */
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { LogRecord, RecordContext } from './log-record.ts';
import { withoutSecrets } from '../outbound/secrets-in-text.ts';
import { unanswered, type Answer, type Concern, type LogSink, type SinkNetwork } from './log-sink.ts';

export interface WrittenBatch {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
}

export interface Reply {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: Buffer;
}

interface HttpSink {
  network: SinkNetwork;
  tlsVerify: boolean;
  write(records: readonly LogRecord[], context: RecordContext): WrittenBatch;
  /** Undefined: as any other server would mean it. */
  judge?(reply: Reply): Answer | undefined;
}

const secondsMax = 30;
const replyBytesMax = 64 * 1024;
const shownCharactersMax = 240;
const compress = promisify(gzip);
/** Lines of logs are alike: the fastest level finds most of it, for a third of the time. */
const level = constants.Z_BEST_SPEED;

export const httpSink = ({ network, tlsVerify, write, judge }: HttpSink): LogSink => ({
  async send(records, context, signal) {
    const { url, headers, body } = write(records, context);
    const sent = { ...headers, 'content-encoding': 'gzip' };
    try {
      const compressed = await compress(body, { level });
      const asked = { url, method: 'POST', headers: sent, body: compressed, secondsMax, replyBytesMax, tlsVerify, signal } as const;
      const reply = await network.request(asked);
      return fitToShow(judge?.(reply) ?? meaningOf(reply), [url, ...Object.values(headers)]);
    } catch (error) {
      return fitToShow(unanswered(error), [url]);
    }
  },
});

/** Statuses by which a server says that it would take the batch if its address or its credential were put right, which its owner can do. Lines wait for that as long as logs are kept. */
const statusesOfSettings: ReadonlyMap<number, Concern> = new Map([
  [401, 'credential'],
  [402, 'credential'],
  [403, 'credential'],
  [404, 'address'],
  [405, 'address'],
  [407, 'address'],
  [410, 'address'],
  [421, 'address'],
  [426, 'address'],
  [451, 'address'],
]);
const statusesOfLater: ReadonlySet<number> = new Set([408, 425, 429]);
const tooLarge = 413;

export function meaningOf(reply: Reply): Answer {
  const { status } = reply;
  if (status >= 200 && status < 300) return { is: 'taken' };
  const why = toldOf(reply);
  if (status === tooLarge) return { is: 'too-large', why };
  const isFault = status >= 400 && status < 500 && !statusesOfSettings.has(status) && !statusesOfLater.has(status);
  return isFault ? { is: 'refused', why } : laterBy(reply, why);
}

const laterBy = ({ status, headers }: Reply, why: string): Answer => {
  const waitSeconds = retryAfterSeconds(headers['retry-after']);
  return { is: 'later', why, about: statusesOfSettings.get(status) ?? 'address', ...(waitSeconds !== undefined && { waitSeconds }) };
};

/** Seconds, or a date. */
function retryAfterSeconds(header: string | string[] | undefined): number | undefined {
  const text = String(header ?? '');
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

export function toldOf({ status, body }: Reply): string {
  const said = body
    .toString('utf8')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return `The sink answered ${status}${said === '' ? '.' : `: ${said}`}`;
}

/** Servers repeat what they were sent, and so do errors: addresses of collectors and values of headers are secrets. */
function fitToShow(answer: Answer, secrets: readonly string[]): Answer {
  if (answer.why === undefined) return answer;
  const parts = secrets.flatMap((secret) => [secret, ...secret.split(' ')]);
  // Shortened last: half of a secret would not be found any more.
  return { ...answer, why: withoutSecrets(answer.why, parts).slice(0, shownCharactersMax).toWellFormed() };
}

/** The address with the path that the protocol has, where the owner gave none. */
export function withUsualPath(url: string, path: string): string {
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = path;
  return address.href;
}
