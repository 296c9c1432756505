/**
 * A store that speaks S3, for tests: signatures are checked, bodies come in signed chunks as restic's client sends them, and it can be told to misbehave. (Of the
 * stores that npm offers none understands such bodies, and Debian has none that is small.)
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault =
  /** Answers 500 to everything. */
  | 'fails'
  /** Says yes, and keeps nothing. */
  | 'swallows'
  /** Says yes, and keeps half. */
  | 'truncates'
  /** Is full. */
  | 'full';

export interface TestS3 {
  endpoint: string;
  /** By bucket and key. */
  objects: Map<string, Buffer>;
  /** From the write on that comes after so many. */
  misbehave(fault: Fault | undefined, afterWrites?: number): void;
  /** As if the machine were gone; `comeBack` has it again, with everything. */
  disappear(): Promise<void>;
  comeBack(): Promise<void>;
}

export const testS3Keys = { accessKey: 'ACCESS/KEY+1', secretKey: 'se/cret+key=' };
const region = 'us-east-1';

export async function openTestS3(bucket: string, keys = testS3Keys): Promise<TestS3> {
  const objects = new Map<string, Buffer>();
  let [fault, writesLeft]: [Fault | undefined, number] = [undefined, 0];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray());
    const isWrite = request.method === 'PUT';
    const current = writesLeft <= 0 ? fault : undefined;
    if (isWrite) writesLeft -= 1;
    const isOurs = isSigned(request, new URL(request.url ?? '/', 'http://store'), keys);
    const known = isOurs ? answer(objects, bucket, request, body, current) : failure(403, 'SignatureDoesNotMatch');
    const reply = current === 'fails' ? failure(500, 'InternalError') : known;
    response.writeHead(reply.status, { 'content-type': 'application/xml', ...reply.headers });
    response.end(request.method === 'HEAD' ? undefined : reply.body);
  };
  const server = createServer((request, response) => void serve(request, response));
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    misbehave: (wanted, afterWrites = 0) => {
      [fault, writesLeft] = [wanted, afterWrites];
    },
    disappear: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    comeBack: () => listen(port),
  };
}

interface Reply {
  status: number;
  body?: Buffer | string;
  headers?: Record<string, string>;
}

const failure = (status: number, code: string): Reply => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
});

function answer(objects: Map<string, Buffer>, bucket: string, request: IncomingMessage, body: Buffer, fault: Fault | undefined): Reply {
  const url = new URL(request.url ?? '/', 'http://store');
  const path = decodeURIComponent(url.pathname).slice(1);
  if (path.split('/', 1)[0] !== bucket) return failure(404, 'NoSuchBucket');
  const isBucket = path === bucket || path === `${bucket}/`;
  if (isBucket && url.searchParams.has('location')) return { status: 200, body: '<LocationConstraint/>' };
  if (isBucket) return request.method === 'GET' ? listing(objects, bucket, url.searchParams) : { status: 200 };
  if (request.method === 'PUT') return write(objects, path, request, body, fault);
  if (request.method === 'DELETE') return { status: objects.delete(path) ? 204 : 204 };
  return read(objects.get(path), request);
}

function write(objects: Map<string, Buffer>, path: string, request: IncomingMessage, body: Buffer, fault: Fault | undefined): Reply {
  if (request.headers['if-none-match'] === '*' && objects.has(path)) return failure(412, 'PreconditionFailed');
  const isChunked = String(request.headers['x-amz-content-sha256']).startsWith('STREAMING-');
  const content = isChunked ? withoutChunks(body) : body;
  if (isChunked && content.length !== Number(request.headers['x-amz-decoded-content-length'])) return failure(400, 'IncompleteBody');
  if (fault === 'full') return failure(507, 'XMinioStorageFull');
  if (fault !== 'swallows') objects.set(path, fault === 'truncates' ? content.subarray(0, content.length / 2) : content);
  return { status: 200, headers: { etag: etagOf(content) } };
}

/** Each: its length in hexadecimal digits, a signature, the bytes. */
function withoutChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.toString('latin1', at, end), 16);
    chunks.push(body.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  return Buffer.concat(chunks);
}

const etagOf = (content: Buffer) => `"${createHash('md5').update(content).digest('hex')}"`;

function read(content: Buffer | undefined, request: IncomingMessage): Reply {
  if (!content) return failure(404, 'NoSuchKey');
  const headers = { etag: etagOf(content), 'last-modified': new Date(0).toUTCString(), 'accept-ranges': 'bytes' };
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(String(request.headers.range)) ?? [];
  if (from === undefined) return { status: 200, body: content, headers: { ...headers, 'content-length': String(content.length) } };
  const last = Math.min(to ? Number(to) : content.length - 1, content.length - 1);
  if (Number(from) > last) return failure(416, 'InvalidRange');
  const part = content.subarray(Number(from), last + 1);
  const range = { 'content-range': `bytes ${from}-${last}/${content.length}`, 'content-length': String(part.length) };
  return { status: 206, body: part, headers: { ...headers, ...range } };
}

/** A few at a time, so that pages are turned. */
const keysAtOnce = 50;

function listing(objects: Map<string, Buffer>, bucket: string, query: URLSearchParams): Reply {
  const [prefix, delimiter, after] = ['prefix', 'delimiter', 'continuation-token'].map((name) => query.get(name) ?? '');
  const keys = [...objects.keys()].map((path) => path.slice(bucket.length + 1)).toSorted();
  const wanted = keys.filter((key) => key.startsWith(prefix ?? '') && key > (after ?? ''));
  const page = wanted.slice(0, keysAtOnce);
  const shown = query.get('encoding-type') === 'url' ? encodeURIComponent : (text: string) => text;
  const folders = new Set<string>();
  const contents = page.flatMap((key) => {
    const cut = delimiter ? key.indexOf(delimiter, prefix?.length) : -1;
    if (cut >= 0) folders.add(key.slice(0, cut + 1));
    const size = objects.get(`${bucket}/${key}`)?.length ?? 0;
    return cut >= 0
      ? []
      : [`<Contents><Key>${shown(key)}</Key><LastModified>1970-01-01T00:00:00.000Z</LastModified><Size>${size}</Size></Contents>`];
  });
  const common = [...folders].map((folder) => `<CommonPrefixes><Prefix>${shown(folder)}</Prefix></CommonPrefixes>`);
  const next = wanted.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  const isTruncated = `<IsTruncated>${wanted.length > page.length}</IsTruncated>`;
  const encoding = query.has('encoding-type') ? '<EncodingType>url</EncodingType>' : '';
  return {
    status: 200,
    body: `<ListBucketResult>${encoding}${isTruncated}${next}${contents.join('')}${common.join('')}</ListBucketResult>`,
  };
}

/** Whether the request's signature is the one that the secret key makes of it. */
function isSigned(request: IncomingMessage, url: URL, keys: typeof testS3Keys): boolean {
  const words = /Credential=([^,]+?)\/(\d{8}\/[^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})/.exec(
    request.headers.authorization ?? '',
  );
  const [, accessKey, scope = '', names = '', signature] = words ?? [];
  if (accessKey !== keys.accessKey) return false;
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const query = url.search.slice(1).split('&').filter(Boolean).toSorted();
  const pairs = query.map((pair) => (pair.includes('=') ? pair : `${pair}=`)).join('&');
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const canonical = [request.method, url.pathname, pairs, headers.join(''), names, String(request.headers['x-amz-content-sha256'])].join(
    '\n',
  );
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${keys.secretKey}`);
  const text = ['AWS4-HMAC-SHA256', String(request.headers['x-amz-date']), scope, sha(canonical)].join('\n');
  return scope.split('/')[1] === region && hmac(key, text).toString('hex') === signature;
}
