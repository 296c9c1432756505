/** From what was sent of an integration to all its values: what is not said stays as it was, or is what is usual. */
import type { Config } from '../../config.ts';
import { compileBody, type Parser } from '../../kernel/parse.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Integration } from './integration.ts';
import { freshSecrets, usualValues } from './stored-integration.ts';
import type { Values } from './types/field.ts';
import { fieldsOf, GivenIntegration, typeOf, type Given } from './types/types.ts';

export const newValues = ({ type, ...given }: Given): Values => checked(type, { ...freshSecrets(type), ...usualValues(type), ...given });

/** Throws a Problem where another type is named: what an integration was made for, it stays. */
export function changedValues({ type, values }: Integration, { type: named, ...given }: Given): Values {
  if (named !== type) throw mistaken({ type: `cannot be changed from ${type}; delete the integration and create another` });
  return checked(type, { ...freshSecrets(type), ...withoutReplaced(type, values, given), ...given });
}

/** Where one of two fields is given that take each other's place, the other one goes. */
function withoutReplaced(type: string, values: Values, given: Values): Values {
  const pairs = fieldsOf(type).flatMap(([name, { insteadOf }]) => (insteadOf === undefined ? [] : [[name, insteadOf] as const]));
  const replaced = new Set(pairs.flatMap(([one, other]) => [...(one in given ? [other] : []), ...(other in given ? [one] : [])]));
  return Object.fromEntries(Object.entries(values).filter(([name]) => !replaced.has(name)));
}

let parse: Parser | undefined;

/** What was sent by a client that names only what changes: held to the same rules, with all that it did not name as it is. */
export function completed({ type, values }: Integration, given: Values): Given {
  parse ??= compileBody(GivenIntegration);
  const stays = withoutReplaced(type, values, given);
  const kept = fieldsOf(type).flatMap(([name, { isRequired, insteadOf }]) =>
    (isRequired || insteadOf !== undefined) && stays[name] !== undefined ? [[name, stays[name]]] : [],
  );
  return parse({ type, ...(Object.fromEntries(kept) as Values), ...given }) as Given;
}

/** Throws a Problem unless the integration could do what it is for, on an installation with these settings. */
export function refuseUnfit({ type, values }: Integration, config: Pick<Config, 'mail'>): void {
  const { mistakes, lacks } = typeOf(type);
  refuse({ ...mistakes?.(values), ...lacks?.(values, config) });
}

function checked(type: string, values: Values): Values {
  const tidied = tidy(values);
  refuse({ ...unreadableAddresses(type, tidied), ...typeOf(type).mistakes?.(tidied) });
  return tidied;
}

/** Clients take the name of a repository out of its address, and leave the slash in front. */
const tidy = (values: Values): Values => {
  const withoutSlash = ['repository', 'project'].flatMap((name) => {
    const value = values[name];
    return typeof value === 'string' ? [[name, value.replace(/^\//, '')]] : [];
  });
  return { ...values, ...(Object.fromEntries(withoutSlash) as Values) };
};

const unreadableAddresses = (type: string, values: Values): Record<string, string> => {
  const addresses = fieldsOf(type).flatMap(([name, { schema }]) =>
    (schema as { format?: string }).format === 'uri' ? [[name, values[name]] as const] : [],
  );
  const unreadable = addresses.filter(([, value]) => typeof value === 'string' && !URL.canParse(value));
  return Object.fromEntries(unreadable.map(([name]) => [name, 'is not an address']));
};

function refuse(mistakes: Record<string, string>): void {
  if (Object.keys(mistakes).length > 0) throw mistaken(mistakes);
}

const mistaken = (fields: Record<string, string>) =>
  new Problem(
    'invalid-request',
    Object.entries(fields)
      .map(([field, message]) => `${field} ${message}.`)
      .join(' '),
    { fields },
  );
