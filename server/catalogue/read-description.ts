/** Reads the description of a service type, and names every field in it that cannot be as it is written. */
import { parse } from 'yaml';
import { compileBody, type Parser } from '../kernel/parse.ts';
import { Problem } from '../kernel/problem.ts';
import { flawsIn } from './description-flaws.ts';
import { Description } from './description.ts';

/** Throws a Problem that names every field that cannot be as it is written, and why. */
export function readDescription(text: string): Description {
  const written = parseDescription(text);
  if (typeof written !== 'object' || written === null || Array.isArray(written)) throw refused('It should be a map of fields.');
  const description = checked(written);
  const flaws = flawsIn(description);
  if (flaws.size > 0) throw refused([...flaws].map(([field, flaw]) => `${field} ${flaw}.`).join('\n'), Object.fromEntries(flaws));
  return description;
}

/** A description that is known to be right, because it was checked when it was stored, or by a test. */
export const knownDescription = (text: string): Description => parseDescription(text) as Description;

let parser: Parser | undefined;

/** Checking is made ready with the first description that is checked: most processes check none. */
function checked(written: object): Description {
  parser ??= compileBody(Description);
  try {
    return parser(written) as Description;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const fields = error.fields ?? {};
    const flaws = Object.entries(fields).map(([field, flaw]) => `${field} ${flaw}.`);
    throw refused(flaws.join('\n'), fields);
  }
}

/** Keys are text as it is written, so that version 3.10 does not become 3.1. */
function parseDescription(text: string): unknown {
  try {
    return parse(text, { stringKeys: true, maxAliasCount: 0 });
  } catch (error) {
    throw refused(`${(error instanceof Error ? error.message : String(error)).split('\n', 1)[0]}.`);
  }
}

const refused = (words: string, fields?: Record<string, string>) =>
  new Problem('invalid-request', `The description of a service type cannot be used:\n${words}`, { ...(fields && { fields }) });
