/**
 * The little of S3 that restic does not do for us: to see what is there, to look at it, to replace and remove it, and to find out whether a bucket can be used
 * at all. Requests are signed with version 4 of the signature that S3 asks for.
 */
import { createHash, createHmac } from 'node:crypto';
import { Problem } from '../../kernel/problem.ts';

export interface S3Bucket {
  endpoint: string;
  bucket: string;
  region: string;
  accessKey: string;
  secretKey: string;
  /** What the bucket is called in sentences. */
  name: string;
}

export interface S3 {
  /** All keys below a prefix. */
  list(prefix: string): Promise<string[]>;
  /** Undefined where there is no such key. */
  read(key: string): Promise<Buffer | undefined>;
  write(key: string, content: Buffer): Promise<void>;
  /** Does not replace what is there, except in a store that cannot tell. */
  create(key: string, content: Buffer): Promise<void>;
  remove(key: string): Promise<void>;
  /** Writes, reads and removes something below the prefix. Throws a Problem that says what is wrong. */
  tryOut(prefix: string): Promise<void>;
}

const requestSecondsMax = 20;
/** For a request that carries all of a file. */
const contentSecondsMax = 600;
const triesMax = 3;
/** A page has a thousand keys. */
const pagesMax = 10_000;
const saidCharactersMax = 300;

export function openS3(bucket: S3Bucket): S3 {
  const list = async (prefix: string) => {
    const keys: string[] = [];
    let token: string | undefined;
    for (let page = 0; page < pagesMax; page += 1) {
      const query = { 'encoding-type': 'url', 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) };
      const text = (await ask(bucket, 'GET', '', { query })).toString();
      // Not every store knows how to encode keys; ours need it only where the operator's prefix does.
      const isEncoded = text.includes('<EncodingType>url</EncodingType>');
      const plain = (key: string) => (isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key);
      keys.push(...[...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => plain(key)));
      token = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1];
      if (token === undefined) return keys;
    }
    throw new Error(`${bucket.name} has more than ${pagesMax} pages of keys below ${prefix}`);
  };
  const write = async (key: string, content: Buffer, headers: Record<string, string> = {}) =>
    void (await ask(bucket, 'PUT', key, { body: content, headers, secondsMax: contentSecondsMax }));
  return {
    list,
    read: (key) =>
      ask(bucket, 'GET', key, { secondsMax: contentSecondsMax }).catch((error: unknown) => {
        if (hasStatus(error, 404)) return undefined;
        throw error;
      }),
    write: (key, content) => write(key, content),
    create: (key, content) =>
      write(key, content, { 'if-none-match': '*' }).catch((error: unknown) => {
        // The key is there, or somebody is just writing it.
        if (hasStatus(error, 412) || hasStatus(error, 409)) return undefined;
        if (hasStatus(error, 501) || hasStatus(error, 400)) return write(key, content);
        throw error;
      }),
    remove: async (key) => void (await ask(bucket, 'DELETE', key, {})),
    tryOut: async (prefix) => {
      const [key, body] = [`${prefix}offshoot`, new Date().toISOString()];
      await ask(bucket, 'PUT', key, { body });
      const kept = (await ask(bucket, 'GET', key, {})).toString();
      await ask(bucket, 'DELETE', key, {});
      if (kept !== body) throw new Problem('unavailable', `${bucket.name} does not give back what was stored there.`);
    },
  };
}

const hasStatus = (error: unknown, status: number) => error instanceof Problem && error.internal?.startsWith(`${status} `) === true;

interface Asked {
  query?: Record<string, string>;
  /** Headers that need no signature. */
  headers?: Record<string, string>;
  body?: string | Buffer;
  secondsMax?: number;
}

/** The body of the answer. Failures of the other side that may soon be over are tried again. */
async function ask(bucket: S3Bucket, method: string, key: string, asked: Asked): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await send(bucket, method, key, asked).catch((cause: unknown) => {
      if (attempt < triesMax) return undefined;
      throw new Problem('unavailable', `${bucket.name} cannot be reached; see that it runs and that the address is right.`, { cause });
    });
    if (reply && (reply.status < 500 || attempt === triesMax)) {
      if (reply.status < 300 || (method === 'DELETE' && reply.status === 404)) return reply.content;
      throw refusal(bucket, reply);
    }
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
  }
}

function refusal({ name }: S3Bucket, { status, content }: { status: number; content: Buffer }): Problem {
  const text = content.toString();
  const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1] ?? '';
  const internal = `${status} ${text.slice(0, saidCharactersMax)}`;
  if (status === 403) return new Problem('unavailable', `${name} does not accept the access key, or does not let it in.`, { internal });
  if (code === 'NoSuchBucket') return new Problem('unavailable', `The bucket of ${name} does not exist; make it first.`, { internal });
  return new Problem('unavailable', `${name} failed (${status}${code === '' ? '' : ` ${code}`}).`, { internal });
}

async function send(bucket: S3Bucket, method: string, key: string, asked: Asked) {
  const { query = {}, body = '', secondsMax = requestSecondsMax } = asked;
  const url = new URL(bucket.endpoint);
  url.pathname = `/${escaped(bucket.bucket)}${key === '' ? '' : `/${key.split('/').map(escaped).join('/')}`}`;
  // The signature covers the query in just this order, with just these escapes.
  url.search = Object.entries(query)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.map(escaped).join('='))
    .join('&');
  const headers = { ...asked.headers, ...signed(bucket, method, url, body, new Date()) };
  const signal = AbortSignal.timeout(secondsMax * 1000);
  const reply = await fetch(url, { method, headers, signal, redirect: 'error', ...(method === 'PUT' && { body }) });
  return { status: reply.status, content: Buffer.from(await reply.arrayBuffer()) };
}

const escaped = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** The headers of a request that is signed as of now. */
export function signed(
  { region, accessKey, secretKey }: S3Bucket,
  method: string,
  url: URL,
  body: string | Buffer,
  now: Date,
): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = { host: url.host, 'x-amz-content-sha256': sha256(body), 'x-amz-date': time };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const request = [method, url.pathname, url.search.slice(1), lines.join(''), names, headers['x-amz-content-sha256']].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { 'x-amz-content-sha256': sha256(body), 'x-amz-date': time, authorization };
}
