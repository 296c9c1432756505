/** What a branch may be called, and what it is called where only letters, digits and dashes will do. */
import { createHmac } from 'node:crypto';

const branchCharactersMax = 250;

/** Git's own rules for branches; in addition, a name may neither begin with a dash nor look like one of Git's own names. */
export const isBranchName = (name: string) =>
  name.length > 0 &&
  Buffer.byteLength(name) <= branchCharactersMax &&
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\.$|\/$/.test(name) &&
  name.isWellFormed() &&
  name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock')) &&
  !/^(-|refs\/)/.test(name) &&
  name !== '@' &&
  name !== 'HEAD';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const hashCharacters = 7;
/** Together with the project's id, a machine name has to fit into one label of a host name, which is 63 characters. */
const slugCharactersMax = 41;

/**
 * `feature/login` becomes `feature-login-` and a hash of the branch's name, so that names that look alike stay apart. The salt is the project's, so that nobody
 * else can work out the machine names of its branches, and branches of the same name in two projects have different ones.
 */
export function machineName(branch: string, salt: string): string {
  const slug = branch
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, slugCharactersMax)
    .replaceAll(/^-+|-+$/g, '');
  return [slug, hashOf(branch, salt)].filter((part) => part !== '').join('-');
}

function hashOf(branch: string, salt: string) {
  const bits = createHmac('sha256', salt).update(branch).digest().readUInt32BE(0);
  return Array.from(
    { length: hashCharacters },
    (_, n) => alphabet[Number((BigInt(bits) << 3n) >> BigInt(5 * (hashCharacters - 1 - n))) & 31],
  ).join('');
}
