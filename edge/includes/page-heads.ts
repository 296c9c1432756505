/** What the head of a reply says about whether it is a page, and what it may not say of one that is put together here. `lines` are whole headers. */
import { linesWithout } from '../client/header-names.ts';

const [noContent, partialContent, notModified] = [204, 206, 304];

/** Only a whole page that can be read is looked through. */
export const isPage = (status: number, lines: string) =>
  status !== noContent &&
  status !== partialContent &&
  status !== notModified &&
  /^content-type:[ \t]*text\/html\b/im.test(lines) &&
  !isEncoded(lines);

export const isEncoded = (lines: string) => /^content-encoding:[ \t]*(?!identity\b)[^\s]/im.test(lines);

/** They are about the page as the application made it, which is not what the client gets. */
const ofThePageAsMade = new Set([
  'etag',
  'last-modified',
  'accept-ranges',
  'content-md5',
  'content-digest',
  'repr-digest',
  'digest',
  'trailer',
]);

export const linesOfPage = (lines: string) => linesWithout(lines, ofThePageAsMade);
