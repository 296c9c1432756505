/**
 * The head of an application's reply, read strictly: it comes from code that we do not know, and what it says must not turn into a second reply, a
 * header that was smuggled in, or a body of another length. Whatever is not exactly HTTP is refused with the reason, and the client gets 502.
 */
import { headerName, isPlainConnection, linesWithout, namedByConnection } from '../client/header-names.ts';

export interface ReplyHead {
  status: number;
  reason: string;
  /** Lower case; in step with `values`. */
  names: string[];
  values: string[];
  /** Lines for the client, each with its end; without those that frame the body and those that the edge tells. */
  passed: string;
  contentLength: number | undefined;
  isChunked: boolean;
  connection: string | undefined;
  keepAlive: boolean;
  /** For how long the application says that it keeps an idle connection. */
  keepAliveSeconds: number | undefined;
  upgrade: string | undefined;
}

interface First {
  status: number;
  reason: string;
  /** HTTP/1.0 */
  isOld: boolean;
}

export const headerOf = ({ names, values }: ReplyHead, name: string): string | undefined => {
  const index = names.indexOf(name);
  return index === -1 ? undefined : values[index];
};

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const forbidden = /[\0-\x08\x0a-\x1f\x7f]/;
/** A quick test of all lines at once: where it finds nothing, no value holds a character that is forbidden. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const suspicious = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/** `text` is all up to the empty line, without it, in Latin-1. */
export function parseReplyHead(text: string, linesMax: number): ReplyHead | string {
  const endOfFirst = text.indexOf('\r\n');
  const first = firstOf(endOfFirst === -1 ? text : text.slice(0, endOfFirst));
  if (!first) return 'the first line is not one of HTTP/1';
  const { status, reason, isOld } = first;
  const head = emptyHead(status, reason);
  const problem = endOfFirst === -1 ? undefined : readLines(head, text, endOfFirst + 2, linesMax);
  if (problem !== undefined) return problem;
  head.keepAlive = !isOld;
  if (head.connection !== undefined) mindConnection(head, head.connection, isOld);
  if (head.isChunked && isOld) return 'chunks in a reply of HTTP/1.0';
  if (head.isChunked && head.contentLength !== undefined) return 'both a length and chunks';
  return head;
}

let lastLine = '';
let lastFirst: First | undefined;

/** Most replies begin with the same line as the one before, which is remembered. */
function firstOf(line: string): First | undefined {
  if (line === lastLine) return lastFirst;
  const [, minor, status, reason = ''] = statusLine.exec(line) ?? [];
  lastLine = line;
  lastFirst = status === undefined ? undefined : { status: Number(status), reason, isOld: minor === '0' };
  return lastFirst;
}

function mindConnection(head: ReplyHead, connection: string, isOld: boolean) {
  if (connection === 'keep-alive') {
    head.keepAlive = true;
    return;
  }
  head.keepAlive = isOld ? /\bkeep-alive\b/i.test(connection) : !/\bclose\b/i.test(connection);
  if (!isPlainConnection(connection)) dropNamed(head, namedByConnection(connection));
}

export const emptyHead = (status: number, reason: string): ReplyHead => ({
  status,
  reason,
  names: [],
  values: [],
  passed: '',
  contentLength: undefined,
  isChunked: false,
  connection: undefined,
  keepAlive: true,
  keepAliveSeconds: undefined,
  upgrade: undefined,
});

function readLines(head: ReplyHead, text: string, from: number, linesMax: number): string | undefined {
  const add = suspicious.test(text) ? addLine : addCleanLine;
  let start = from;
  for (let count = 0; start < text.length; count++) {
    if (count >= linesMax) return 'too many headers';
    const next = text.indexOf('\r\n', start);
    const end = next === -1 ? text.length : next;
    const colon = text.indexOf(':', start);
    if (colon === -1 || colon >= end) return 'a header without a colon';
    const problem = add(head, text.slice(start, colon), trimBlanks(text, colon + 1, end));
    if (problem !== undefined) return problem;
    start = end + 2;
  }
  return undefined;
}

/** Not `trim()`, which takes more for blank than HTTP does. */
export function trimBlanks(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number) => code === 32 || code === 9;

/** Used for the lines of CGI programs too. */
export function addLine(head: ReplyHead, name: string, value: string): string | undefined {
  const { lower, inReply } = headerName(name);
  if (inReply !== 'invalid' && forbidden.test(value)) return `forbidden characters in ${lower}`;
  return addCleanLine(head, name, value);
}

function addCleanLine(head: ReplyHead, name: string, value: string): string | undefined {
  const { lower, inReply } = headerName(name);
  if (inReply === 'invalid') return 'a header name with forbidden characters';
  head.names.push(lower);
  head.values.push(value);
  if (inReply === 'end-to-end') head.passed += `${name}: ${value}\r\n`;
  else if (inReply === 'content-length') return addLength(head, value);
  else if (inReply === 'transfer-encoding') return addTransferEncoding(head, value);
  else if (inReply === 'connection') head.connection = head.connection === undefined ? value : `${head.connection},${value}`;
  else if (lower === 'keep-alive') head.keepAliveSeconds = Number(/\btimeout=(\d{1,5})\b/.exec(value)?.[1] ?? Number.NaN);
  else if (lower === 'upgrade') head.upgrade = value;
  return undefined;
}

function addLength(head: ReplyHead, value: string): string | undefined {
  if (!/^\d{1,15}$/.test(value)) return 'a length that is not a number';
  const length = Number(value);
  if (head.contentLength !== undefined && head.contentLength !== length) return 'two lengths';
  head.contentLength = length;
  return undefined;
}

function addTransferEncoding(head: ReplyHead, value: string): string | undefined {
  if (head.isChunked || value.toLowerCase() !== 'chunked') return 'a transfer encoding other than chunked';
  head.isChunked = true;
  return undefined;
}

export function dropNamed(head: ReplyHead, dropped: ReadonlySet<string>) {
  if (!head.names.some((name) => dropped.has(name))) return;
  head.passed = linesWithout(head.passed, dropped);
}
