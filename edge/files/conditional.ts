/** What a client has already: If-None-Match before If-Modified-Since, as HTTP says. */
import type { Exchange } from '../exchange.ts';

export function isNotModified(headers: Exchange['headers'], etag: string | undefined, lastModified: string | undefined): boolean {
  const wanted = headers['if-none-match'];
  if (wanted !== undefined) return etag !== undefined && (wanted.trim() === '*' || tagsIn(wanted).includes(weak(etag)));
  const since = headers['if-modified-since'];
  return since !== undefined && lastModified !== undefined && Date.parse(lastModified) <= Date.parse(since);
}

/** Whether a range may be cut out of the file as it is now: the client must have a part of just this version. A weak tag is never enough. */
export function isStillTheSame(ifRange: string | undefined, etag: string, lastModified: string | undefined): boolean {
  return (
    ifRange === undefined ||
    ifRange === etag ||
    (!ifRange.includes('"') && lastModified !== undefined && Date.parse(ifRange) === Date.parse(lastModified))
  );
}

const weak = (tag: string) => tag.replace(/^W\//, '');
const tagsIn = (text: string) => [...text.matchAll(/(?:W\/)?("[^"]*")/g)].map(([, tag]) => tag);
