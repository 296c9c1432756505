/** A configuration in the making, and what is to be said of it: every remark becomes a comment beside the part that it is about. */
import { Document, isMap, isScalar } from 'yaml';

export interface Draft {
  applications: Record<string, AppDraft>;
  services: Record<string, ServiceDraft>;
  routes: Record<string, object>;
  remarks: Remark[];
  /** Lines of the file `.environment` of an app, by the folder of the app: values that are known only where it runs. */
  environmentFiles: Record<string, string[]>;
}

/** In the order in which it is written. */
export interface AppDraft {
  type: string;
  source?: { root: string };
  relationships?: Record<string, { service: string; endpoint?: string }>;
  mounts?: Record<string, { source: 'storage' }>;
  variables?: { env: Record<string, string> };
  runtime?: { extensions: string[] };
  build?: { flavor: string };
  hooks?: { build?: string; deploy?: string };
  web?: { commands?: { start: string }; locations?: Record<string, object> };
  workers?: Record<string, { commands: { start: string } }>;
}

export interface ServiceDraft {
  type: string;
  configuration?: Record<string, unknown>;
}

export interface Remark {
  /** The part that it is about, such as `['applications', 'web']`; empty for the whole. */
  at: readonly string[];
  text: string;
  /** What the source said and the configuration does not. */
  isLoss: boolean;
}

export const emptyDraft = (): Draft => ({ applications: {}, services: {}, routes: {}, remarks: [], environmentFiles: {} });

export function remark(draft: Draft, at: readonly string[], text: string) {
  draft.remarks.push({ at, text, isLoss: false });
}

export function lose(draft: Draft, at: readonly string[], text: string) {
  draft.remarks.push({ at, text, isLoss: true });
}

const columnsMax = 118;

export function writtenDraft(draft: Draft, origin: string): string {
  const { applications, services, routes, remarks } = draft;
  const parts = { applications: inOrder(applications), services, routes };
  const content = Object.fromEntries(Object.entries(parts).filter(([, entries]) => Object.keys(entries).length > 0));
  const document = new Document(content);
  document.commentBefore = comment([
    `Made from ${origin}. Lines that begin with NOT say what could not be carried over.`,
    ...spoken(remarks.filter(({ at }) => at.length === 0)),
  ]);
  const places = new Map(remarks.filter(({ at }) => at.length > 0).map(({ at }) => [at.join('\0'), at]));
  for (const [place, at] of places) {
    const lines = spoken(remarks.filter((one) => one.at.join('\0') === place));
    // What is not there any more is said where it would have been.
    if (!setComment(document, at, lines)) document.commentBefore += `\n${comment(lines.map((line) => `${at.join('.')}: ${line}`))}`;
  }
  return document.toString({ lineWidth: 0 });
}

const orderOfKeys: readonly (keyof AppDraft)[] = [
  'type',
  'source',
  'relationships',
  'mounts',
  'variables',
  'runtime',
  'build',
  'hooks',
  'web',
  'workers',
];

const inOrder = (applications: Draft['applications']) =>
  Object.fromEntries(
    Object.entries(applications).map(([name, app]) => [
      name,
      Object.fromEntries(orderOfKeys.flatMap((key) => (app[key] === undefined ? [] : [[key, app[key]]]))),
    ]),
  );

const spoken = (remarks: readonly Remark[]) => remarks.map(({ text, isLoss }) => (isLoss ? `NOT ${text}` : text));

/** Above the key of that part; false where there is none. */
function setComment(document: Document, at: readonly string[], lines: readonly string[]): boolean {
  const map: unknown = at.length === 1 ? document.contents : document.getIn(at.slice(0, -1), true);
  const key = isMap(map) ? map.items.map((item) => item.key).find((one) => isScalar(one) && one.value === at.at(-1)) : undefined;
  if (!isScalar(key)) return false;
  key.commentBefore = comment(lines);
  return true;
}

const comment = (lines: readonly string[]) =>
  lines
    .flatMap((line) => wrapped(line.replaceAll(/[^\P{Cc}]/gu, ' ')))
    .map((line) => ` ${line}`)
    .join('\n');

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + word.length >= columnsMax) lines.push(`  ${word}`);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
