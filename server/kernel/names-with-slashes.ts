/**
 * Names with slashes in paths. A client should percent-encode them; some do not, so that `/environments/feature/login/activities` arrives. What
 * follows such a name is known from the operations: everything before the first known word belongs to the name. An encoded path is left as it is.
 */
import type { Entity, Operation } from './operation.ts';

/** Marks the schema of a path parameter that may hold slashes. */
export const slashesAllowed = 'x-slashes';

/** The parameter of an entity's path that may hold slashes, if there is one. */
export const slashedName = ({ params }: Pick<Entity, 'params'>): string | undefined =>
  Object.entries(params).find(([, schema]) => slashesAllowed in schema)?.[0];

const partsMax = 10;

/** `a/b/c` as `a/b` and `c`, and as `a` and `b/c`. */
export function splitName(name: string): [name: string, rest: string][] {
  const parts = name.split('/').slice(0, partsMax);
  return parts
    .slice(1)
    .map((_, n) => [parts.slice(0, n + 1).join('/'), parts.slice(n + 1).join('/')] as [string, string])
    .toReversed();
}

interface SlashedPath {
  /** What comes before the name: `/projects/` any id `/environments/`. */
  before: RegExp;
  following: Set<string>;
}

export function compileSlashes(operations: readonly Operation[]): (url: string) => string {
  const slashedPaths = new Map<string, SlashedPath>();
  for (const { path, on } of operations) {
    const name = on && slashedName(on);
    const [before, after] = name === undefined ? [] : path.split(`{${name}}`, 2);
    if (before === undefined || after === undefined) continue;
    const slashed = slashedPaths.get(before) ?? { before: patternOf(before), following: new Set() };
    slashedPaths.set(before, slashed);
    const [, word] = after.split('/', 2);
    if (word) slashed.following.add(word);
  }
  const all = [...slashedPaths.values()];
  return (url) => all.reduce((text, slashed) => encodeIn(text, slashed), url);
}

const patternOf = (before: string) => new RegExp(`^(?:/api)?${before.replaceAll(/{\w+}/g, '[^/?]+')}`);

function encodeIn(url: string, { before, following }: SlashedPath): string {
  const [start] = before.exec(url) ?? [];
  if (start === undefined) return url;
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const [first = '', ...rest] = path.slice(start.length).split('/');
  if (rest.length === 0) return url;
  const end = rest.findIndex((word) => following.has(word));
  const [name, tail] = end < 0 ? [[first, ...rest], []] : [[first, ...rest.slice(0, end)], rest.slice(end)];
  return [start + name.join('%2F'), ...tail].join('/') + url.slice(path.length);
}
