/**
 * Credentials for registries of images are variables called `registry:<host>`, whose value is `<user>:<password>`. They are for the platform itself, when it
 * fetches images: neither builds nor what runs is told them, whatever else their flags say.
 */
import { Problem } from '../../kernel/problem.ts';
import type { EffectiveVariable } from './effective-variables.ts';

const prefix = 'registry:';

export const isForRegistries = (name: string) => name.startsWith(prefix);

/** Undefined: nothing is said of the registry, so it is asked as everybody may. */
export function registryCredentials(
  variables: readonly EffectiveVariable[],
  host: string,
): { username: string; password: string } | undefined {
  const found = variables.find(({ name }) => name === `${prefix}${host}`);
  if (!found) return undefined;
  const at = found.value.indexOf(':');
  if (at <= 0)
    throw new Problem('invalid-request', `The variable ${found.name} is not a user and a password with a colon between them; correct it.`);
  return { username: found.value.slice(0, at), password: found.value.slice(at + 1) };
}
