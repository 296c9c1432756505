/** Texts with variables of a request in them, `https://example.com/$1$is_args$args`: targets of redirects, and front controllers of rules. */
import { encodeText, normalisePath } from './paths.ts';

export interface Variables {
  /** In one spelling. */
  path: string;
  query: string;
  groups?: readonly (string | undefined)[];
  named?: Readonly<Record<string, string | undefined>>;
}

/** `$1`, `$name` (of groups), `$uri`, `$args`, `$is_args`, `$arg_x`, each also as `${…}`; a dollar sign before anything else is one. */
const variable = /\$(?:\{(\w+)\}|([1-9]\d?|[A-Za-z_]\w*))/g;

export function fillIn(text: string, variables: Variables): string {
  if (!text.includes('$')) return text;
  return text.replace(variable, (whole: string, braced?: string, bare?: string) => valueOf(braced ?? bare ?? '', variables) ?? whole);
}

/** Undefined: no variable. What groups caught was decoded, and is encoded again. */
function valueOf(name: string, { path, query, groups = [], named = {} }: Variables): string | undefined {
  if (/^\d+$/.test(name)) return encodeCaught(groups[Number(name)] ?? '');
  if (Object.hasOwn(named, name)) return encodeCaught(named[name] ?? '');
  if (name === 'uri') return path;
  if (name === 'args') return query;
  if (name === 'is_args') return query === '' ? '' : '?';
  return name.startsWith('arg_') ? argument(query, name.slice(4).toLowerCase()) : undefined;
}

const encodeCaught = (text: string) => normalisePath(encodeText(text.replaceAll('%', '%25').replaceAll('?', '%3F').replaceAll('#', '%23')));

/** The value of an argument as it came, percent-encoded. */
function argument(query: string, name: string): string {
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    if ((equals === -1 ? pair : pair.slice(0, equals)).toLowerCase() === name) return equals === -1 ? '' : pair.slice(equals + 1);
  }
  return '';
}
