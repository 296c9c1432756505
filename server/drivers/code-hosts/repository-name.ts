/** `owner/name` as people write it, in its two parts. */
import { Problem } from '../../kernel/problem.ts';

export interface RepositoryName {
  owner: string;
  name: string;
}

const pattern = /^([^\s/]+)\/([^\s/]+)$/;

export function parseRepositoryName(text: string): RepositoryName {
  const [, owner, name] = text.replace(/\.git$/, '').match(pattern) ?? [];
  if (owner === undefined || name === undefined)
    throw new Problem('invalid-request', 'The repository must be written as owner/name.', {
      fields: { repository: 'must be written as owner/name' },
    });
  return { owner, name };
}

/** Hosts do not tell capitals apart. */
export const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** Without slashes at its end. */
export const trimmedAddress = (url: string) => url.replace(/\/+$/, '');

/** Where Git finds the repository of that name, below the address of the host. Git is led nowhere else, so it is given the name that the repository has now. */
export const gitPathOf = (name: string): string => `/${name.split('/').map(encodeURIComponent).join('/')}.git`;
