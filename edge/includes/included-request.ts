/** The request for what a page includes: to the same host, by the same client, for something whole that can be read. */
import type { ReadHead } from '../client/request-head.ts';
import { linesWithout } from '../client/header-names.ts';

export interface Place {
  path: string;
  query: string;
}

const elsewhere = /^(?:[a-z][a-z0-9+.-]*:|[/\\]{2})/i;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const notInAddress = /[\0-\x1f\x7f\\#]/;

/** Where an include leads: a path of this host, as seen from the page's own. Undefined: nowhere, or to another host. */
export function placeOf(written: string, pagePath: string): Place | undefined {
  if (elsewhere.test(written) || notInAddress.test(written)) return undefined;
  const mark = written.indexOf('?');
  const path = mark === -1 ? written : written.slice(0, mark);
  if (path === '') return undefined;
  const whole = path.startsWith('/') ? path : pagePath.slice(0, pagePath.lastIndexOf('/') + 1) + path;
  return { path: encodeBytes(withoutDots(whole)), query: mark === -1 ? '' : encodeBytes(written.slice(mark + 1)) };
}

function withoutDots(path: string): string {
  const segments: string[] = [];
  const all = path.split('/').slice(1);
  for (const [index, segment] of all.entries()) {
    const isDots = segment === '.' || segment === '..';
    if (segment === '..') segments.pop();
    if (!isDots) segments.push(segment);
    else if (index === all.length - 1) segments.push('');
  }
  return `/${segments.join('/')}`;
}

/** Each character is a byte. */
const encodeBytes = (text: string) =>
  text.replaceAll(/[^\x21-\x7e]|["<>^`{|}]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Headers by which a client gets something else than the whole reply as it is. */
const ofParts = new Set(['accept-encoding', 'range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']);
const ofBodies = ['content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'expect', 'upgrade', 'connection'];
const ofPartsAndBodies = new Set([...ofParts, ...ofBodies]);

export interface AskedFor {
  head: ReadHead;
  /** Name, value, name, value. */
  rawHeaders: readonly string[];
}

/** Asks for the page as a whole: only of that can be told which directives it has. */
export const askedAsWhole = ({ head, rawHeaders }: AskedFor): AskedFor => without(head, rawHeaders, ofParts);

export const askedFromPage = ({ head, rawHeaders }: AskedFor, { path, query }: Place): AskedFor => {
  const own = { ...head, path, query, contentLength: undefined, isChunked: false, expectsContinue: false, upgrade: undefined };
  return without(own, rawHeaders, ofPartsAndBodies);
};

const without = (head: ReadHead, rawHeaders: readonly string[], names: ReadonlySet<string>): AskedFor => ({
  head: { ...head, passed: linesWithout(head.passed, names) },
  rawHeaders: rawHeaders.filter((_, index) => !names.has((rawHeaders[index - (index % 2)] ?? '').toLowerCase())),
});
