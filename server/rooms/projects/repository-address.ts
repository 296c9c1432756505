/**
 * Addresses of repositories to begin with. They are kept in the settings of a project and with its activities, for everybody who sees it, so they may
 * hold no credentials: those are refused, not cut off, because without them the code could not be fetched anyway and nobody would know why.
 */
import { invalidField } from '../../kernel/problem.ts';

const withoutCredentials =
  'must be an address without a user name or password; name a public repository, or push a private one from a clone of your own instead';

/** What is wrong with the address of a repository, if anything. Queries are refused, because tokens may be in them and Git does not use them. */
export function addressMistake(address: string): string | undefined {
  if (holdsCredentials(address)) return withoutCredentials;
  const url = URL.parse(address);
  const isRepository = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  return isRepository ? undefined : 'must be an address such as https://example.org/shop.git, or https://example.org/shop.git@branch';
}

/** Refuses credentials anywhere in a value that is to be stored, naming the field. The recursion is safe, because requests are not nested deeply. */
export function refuseCredentials(value: unknown, field: string): void {
  if (typeof value === 'string' && holdsCredentials(value)) throw invalidField(field, withoutCredentials);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) refuseCredentials(inner, `${field}.${key}`);
}

/** Finds credentials even when the address is only a part of the text, or is not well-formed. */
function holdsCredentials(text: string) {
  const url = URL.parse(text);
  return /:\/\/[^\s/\\?#]*@/.test(text) || (url !== null && (url.username !== '' || url.password !== ''));
}
