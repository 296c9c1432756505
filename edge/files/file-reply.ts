/**
 * A file as a reply: whole or a part of it, compressed where the client takes that, or that it has not changed.
 *
 * Compressed are texts: by a file beside it (`style.css.br`, `.gz`), else by ourselves, once, while it is in memory. A part is cut out of what is not
 * compressed; of several parts, all is sent.
 */
import type { Stats } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { isNotModified, isStillTheSame } from './conditional.ts';
import { durationSeconds } from '../routing/durations-and-sizes.ts';
import type { Exchange, FilePart, Reply } from '../exchange.ts';
import { expiryHeaders } from './expiry.ts';
import { mediaTypeOf } from './media-types.ts';
import { recentlyUsed } from '../cache/recently-used.ts';
import { type OpenFile, openFileAt, readFileAt } from './resolve-file.ts';

export interface FoundFile {
  host: string;
  bytes: number;
  isImmutable: boolean;
}
export interface FileSettings {
  expires: string;
  headers: Record<string, string>;
}
type Encoding = 'br' | 'gzip';

/** Smaller files are read at once, which takes less time than asking another thread to do it. */
const smallBytesMax = 64 * 1024;
const compressedBytesMin = 1024;
const compressedBytesMax = 2 * 1024 * 1024;
const compressionsMax = 4;
const keptBytesMax = 64 * 1024 * 1024;
/** Builds often give all files the same time of long ago, which says nothing about when they changed. */
const timeMin = Date.UTC(1990);

/** Small files of folders that never change, and compressed files of all folders. */
const keptFiles = recentlyUsed<Content>(keptBytesMax);
const keptCompressed = recentlyUsed<Buffer>(keptBytesMax);
const compressing = new Map<string, Promise<Buffer>>();

/** Undefined: there is no such file any more. `besides` finds the file beside it with this ending. */
export function replyWithFile(
  exchange: Exchange,
  path: string,
  file: FoundFile,
  settings: FileSettings,
  besides: (ending: '.br' | '.gz') => FoundFile | undefined,
): Reply | undefined | Promise<Reply | undefined> {
  const { type, isTextual } = mediaTypeOf(path);
  const headers = exchange.headers.range === undefined && isTextual ? encodingsIn(exchange.headers['accept-encoding']) : [];
  for (const encoding of headers) {
    const beside = besides(encoding === 'br' ? '.br' : '.gz');
    if (beside) return withContent(beside, (content) => replyOf(exchange, { type, isTextual, settings, content, encoding }));
  }
  return withContent(file, (content) => {
    const [encoding] = headers;
    const { size } = content;
    return encoding !== undefined && size >= compressedBytesMin && size <= compressedBytesMax && mayTransform(settings)
      ? compressedReply(exchange, { type, isTextual, settings, content, encoding })
      : replyOf(exchange, { type, isTextual, settings, content, encoding: undefined });
  });
}

const mayTransform = ({ headers }: FileSettings) =>
  !Object.entries(headers).some(([name, value]) => /^cache-control$/i.test(name) && /no-transform/i.test(value));

interface Identity {
  host: string;
  size: number;
  tag: string;
  lastModified: string | undefined;
}
type Content = Identity & ({ bytes: Buffer } | Pick<OpenFile, 'file'>);

function withContent(found: FoundFile, use: (content: Content) => Reply | Promise<Reply>): Reply | undefined | Promise<Reply | undefined> {
  const { host } = found;
  if (found.bytes > smallBytesMax) return openFileAt(host).then((open) => open && use({ ...identityOf(host, open.stat), file: open.file }));
  const small = smallFile(found);
  return small && use(small);
}

function smallFile({ host, isImmutable }: FoundFile): Content | undefined {
  const known = isImmutable ? keptFiles.get(host) : undefined;
  if (known) return known;
  const read = readFileAt(host, smallBytesMax);
  if (!read) return undefined;
  const content = { ...identityOf(host, read.stat), bytes: read.bytes };
  if (isImmutable) keptFiles.set(host, content, read.bytes.length + host.length * 2 + 500);
  return content;
}

const identityOf = (host: string, stat: Stats): Identity => ({
  host,
  size: stat.size,
  tag: tagOf(host, stat),
  lastModified: stat.mtimeMs < timeMin ? undefined : new Date(stat.mtimeMs).toUTCString(),
});

/** Two files whose bytes may differ have different tags, also in folders in which all files have the same time. */
const tagOf = (host: string, { ino, size, mtimeMs }: Stats) =>
  `${hash(host).toString(36)}-${ino.toString(36)}-${Math.round(mtimeMs * 1000).toString(36)}-${size.toString(36)}`;

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

interface Shown {
  type: string;
  isTextual: boolean;
  settings: FileSettings;
  content: Content;
  encoding: Encoding | undefined;
}

function replyOf(exchange: Exchange, { type, isTextual, settings, content, encoding }: Shown): Reply | Promise<Reply> {
  const { size, lastModified } = content;
  const etag = `"${content.tag}${encoding === undefined ? '' : `-${encoding}`}"`;
  const headers = headersOf({ type, isTextual, settings, encoding, etag, lastModified });
  if (isNotModified(exchange.headers, etag, lastModified))
    return closing(content, { status: 304, headers: headers.filter(([name]) => !name.startsWith('Content-')), body: undefined });
  const range = rangeIn(exchange, size, etag, lastModified);
  if (range === 'beyond') return closing(content, { status: 416, headers: [['Content-Range', `bytes */${size}`]], body: '' });
  if (range === undefined) return { status: 200, headers, body: partOf(content, 0, size) };
  const [start, end] = range;
  return {
    status: 206,
    headers: [...headers, ['Content-Range', `bytes ${start}-${end}/${size}`]],
    body: partOf(content, start, end - start + 1),
  };
}

const partOf = (content: Content, start: number, bytes: number): Buffer | FilePart =>
  'file' in content ? { file: content.file, start, bytes } : content.bytes.subarray(start, start + bytes);

async function closed(file: OpenFile['file'], reply: Reply): Promise<Reply> {
  await file.close();
  return reply;
}
const closing = (content: Content, reply: Reply) => ('file' in content ? closed(content.file, reply) : reply);

/** What the user set wins over what we would say. */
function headersOf({
  type,
  isTextual,
  settings,
  encoding,
  etag,
  lastModified,
}: Omit<Shown, 'content'> & { etag: string; lastModified: string | undefined }): [string, string][] {
  const own: [string, string][] = [
    ['Content-Type', type],
    ['ETag', etag],
    ['Accept-Ranges', 'bytes'],
    ...(lastModified === undefined ? [] : [['Last-Modified', lastModified] satisfies [string, string]]),
    ...(encoding === undefined ? [] : [['Content-Encoding', encoding] satisfies [string, string]]),
    ...(isTextual ? [['Vary', 'Accept-Encoding'] satisfies [string, string]] : []),
  ];
  const set = Object.entries(settings.headers).filter(([name]) => !headersNotSet.has(name.toLowerCase()));
  const names = new Set(set.map(([name]) => name.toLowerCase()));
  const expiry = names.has('cache-control') ? [] : expiryHeaders(durationSeconds(settings.expires));
  return [...[...own, ...expiry].filter(([name]) => name === 'Vary' || !names.has(name.toLowerCase())), ...set];
}

/** Headers that say how the reply is sent, which nobody but the sender knows. */
const headersNotSet: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** First and last byte. Undefined: the whole file, also where the range cannot be read or is more than one. */
function rangeIn(
  { method, headers }: Exchange,
  size: number,
  etag: string,
  lastModified: string | undefined,
): [number, number] | 'beyond' | undefined {
  const [, from = '', to = ''] = (method === 'GET' && /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(headers.range ?? '')) || [];
  if ((from === '' && to === '') || !isStillTheSame(headers['if-range'], etag, lastModified)) return undefined;
  if (from === '') return Number(to) === 0 || size === 0 ? 'beyond' : [Math.max(size - Number(to), 0), size - 1];
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < start) return undefined;
  return start >= size ? 'beyond' : [start, end];
}

/** The encodings that the client takes and the edge can make, the best first. */
function encodingsIn(accept: string | undefined): Encoding[] {
  if (accept === undefined) return [];
  const known = keptEncodings.get(accept);
  if (known) return known;
  const encodings = readEncodings(accept);
  keptEncodings.set(accept, encodings, 1);
  return encodings;
}

/** Clients send the same few values again and again. */
const keptEncodings = recentlyUsed<Encoding[]>(200);

function readEncodings(accept: string): Encoding[] {
  const qualities = new Map(
    accept.split(',').map((part): [string, number] => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const quality = parameters.find((text) => text.startsWith('q='));
      return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
    }),
  );
  const qualityOf = (name: string) => qualities.get(name) ?? qualities.get('*') ?? 0;
  const [br, gz] = [qualityOf('br'), Math.max(qualityOf('gzip'), qualities.get('x-gzip') ?? 0)];
  const both: [Encoding, number][] =
    br >= gz
      ? [
          ['br', br],
          ['gzip', gz],
        ]
      : [
          ['gzip', gz],
          ['br', br],
        ];
  return both.flatMap(([encoding, quality]) => (quality > 0 ? [encoding] : []));
}

async function compressedReply(exchange: Exchange, shown: Shown & { encoding: Encoding }): Promise<Reply> {
  const { content, encoding } = shown;
  const plain = { ...shown, encoding: undefined };
  if (isNotModified(exchange.headers, `"${content.tag}-${encoding}"`, undefined)) return replyOf(exchange, shown);
  const bytes = await compressed(content, encoding);
  if (!bytes) return replyOf(exchange, plain);
  if ('file' in content) await content.file.close();
  const { host, tag, lastModified } = content;
  return replyOf(exchange, { ...shown, content: { host, tag, lastModified, size: bytes.length, bytes } });
}

/** Undefined: enough is being compressed already, or the file did not become smaller. */
async function compressed(content: Content, encoding: Encoding): Promise<Buffer | undefined> {
  // Another application could make a file with the same tag on purpose, as replies tell it; so the file's path is part of the key.
  const key = `${encoding} ${content.tag} ${content.host}`;
  const known = keptCompressed.get(key) ?? compressing.get(key);
  if (known) return known;
  if (compressing.size >= compressionsMax) return undefined;
  const work = compress(content, encoding);
  compressing.set(key, work);
  try {
    const bytes = await work;
    keptCompressed.set(key, bytes, bytes.length + key.length * 2 + 300);
    return bytes;
  } finally {
    compressing.delete(key);
  }
}

const qualityOfBrotli = 5;
const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

async function compress(content: Content, encoding: Encoding): Promise<Buffer> {
  const bytes = 'bytes' in content ? content.bytes : await readWhole(content);
  return encoding === 'gzip'
    ? zip(bytes)
    : brotli(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: qualityOfBrotli,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        },
      });
}

async function readWhole({ file, size }: Pick<OpenFile, 'file'> & { size: number }): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  for (let read = -1; read !== 0 && length < size; length += read)
    ({ bytesRead: read } = await file.read(bytes, length, size - length, length));
  return bytes.subarray(0, length);
}
