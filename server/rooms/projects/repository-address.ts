/**
 * Addresses of repositories to begin with. They are kept in the settings of a project and with its activities, for everybody who sees it, so they may
 * hold no credentials: those are refused, not cut off, because without them the code could not be fetched anyway and nobody would know why.
 */
import { invalidField } from '../../kernel/problem.ts';

const withoutCredentials =
  'must be an address without a user name or password; name a public repository, or push a private one from a clone of your own instead';

/** What is wrong with the address of a repository, if anything. Queries are where other people's tokens are; Git has no use for them. */
export function addressMistake(address: string): string | undefined {
  if (holdsCredentials(address)) return withoutCredentials;
  const url = URL.parse(address);
  const isRepository = url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  return isRepository ? undefined : 'must be an address such as https://example.org/shop.git, or https://example.org/shop.git@branch';
}

/** In whatever is to be kept, by the name of the field. Requests are not nested deeply. */
export function refuseCredentials(value: unknown, field: string): void {
  if (typeof value === 'string' && holdsCredentials(value)) throw invalidField(field, withoutCredentials);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) refuseCredentials(inner, `${field}.${key}`);
}

/** Also where the address is only a part of the text, or not quite one. */
function holdsCredentials(text: string) {
  const url = URL.parse(text);
  return /:\/\/[^\s/\\?#]*@/.test(text) || (url !== null && (url.username !== '' || url.password !== ''));
}
