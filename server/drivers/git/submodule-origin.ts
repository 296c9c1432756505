/**
 * Where a submodule is fetched from: what `.gitmodules` says, made into an address that may be visited, or refused in words. Relative addresses
 * lead from where the repository around it is.
 */
import { Problem } from '../../kernel/problem.ts';
import { parseWebAddress, type WebAddress } from './fetch-remote.ts';

export type SubmoduleOrigin =
  | ({ kind: 'web' } & WebAddress)
  /** A project of this installation. */
  | { kind: 'project'; id: string };

/** The project of this installation that an address is of; undefined for all others. */
export type ProjectAt = (url: string) => string | undefined;

const supported =
  'submodules are fetched from https:// and http:// addresses, and from projects of this installation; keys for others are not offered yet';

/** Throws a Problem that names the submodule. */
export function originOf(path: string, url: string, around: SubmoduleOrigin, projectAt: ProjectAt): SubmoduleOrigin {
  const refuse = (why: string) => new Problem('invalid-request', `The submodule '${path}' cannot be fetched: ${why}.`);
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (url === '' || /[\u0000-\u0020\u007f]/.test(url)) throw refuse('its address is empty, or has spaces or control characters in it');
  if (/^\.\.?\//.test(url)) {
    const found = relativeOrigin(url, around);
    if (found) return found;
    throw refuse(
      around.kind === 'project'
        ? `its address ${url} leads from this project to nothing that is a project of this installation; write the whole address`
        : `its address ${url} leads out of ${around.url.origin}`,
    );
  }
  const project = projectAt(url);
  if (project !== undefined) return { kind: 'project', id: project };
  const address = parseWebAddress(url);
  if (address) return { kind: 'web', ...address };
  throw refuse(`its address ${withoutCredentials(url)} is not one that can be visited; ${supported}`);
}

/** `../x.git`: beside the repository around it. Undefined where that leads nowhere. */
function relativeOrigin(url: string, around: SubmoduleOrigin): SubmoduleOrigin | undefined {
  if (around.kind === 'project') {
    const [, id] = /^\.\.\/([a-z0-9]{1,64})(?:\.git)?\/?$/.exec(url) ?? [];
    return id === undefined ? undefined : { kind: 'project', id };
  }
  const parts = around.url.pathname.split('/').filter((part) => part !== '');
  for (const part of url.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return undefined;
    } else if (part !== '.' && part !== '') parts.push(part);
  }
  const address = parts.length === 0 ? undefined : parseWebAddress(`${around.url.origin}/${parts.join('/')}`);
  return address && { kind: 'web', url: address.url, credentials: around.credentials };
}

const withoutCredentials = (url: string) => url.replace(/^([a-z+.-]+:\/\/)[^/@]*@/i, '$1');

/** For people to read. */
export const titleOf = (origin: SubmoduleOrigin) => (origin.kind === 'web' ? origin.url.href : `the project ${origin.id}`);

export interface Declared {
  url: string;
  /** The submodule's folder is to stay empty. */
  isLeftOut: boolean;
}

/** By path, from what `git config --list -z` says of a `.gitmodules`. Names are for people; nothing is made of them. */
export function declaredIn(listing: string): Map<string, Declared> {
  const modules = new Map<string, Record<string, string>>();
  for (const line of listing.split('\0')) {
    const [, name, key, value] = /^submodule\.(.+)\.([a-z]+)\n(.*)$/s.exec(line) ?? [];
    if (name !== undefined && key !== undefined) modules.set(name, { ...modules.get(name), [key]: value ?? '' });
  }
  const declared = new Map<string, Declared>();
  for (const { path, url, update } of modules.values())
    if (path !== undefined && url !== undefined) declared.set(path.replace(/\/+$/, ''), { url, isLeftOut: update === 'none' });
  return declared;
}
