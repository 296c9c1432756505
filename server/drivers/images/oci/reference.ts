/** How images of registries are called: `redis:8`, `registry.example.com:5000/team/web:1.4`, `ghcr.io/team/web@sha256:…`. */
import { Problem } from '../../../kernel/problem.ts';

export interface Reference {
  /** As it is written: `docker.io` for images that name no registry. */
  host: string;
  name: string;
  /** What is asked for where there is no digest. */
  tag: string;
  digest: string | undefined;
}

const usualHost = 'docker.io';
const referenceCharactersMax = 512;
const hostPattern = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const namePattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

export const isDigest = (text: string) => digestPattern.test(text);

/** Undefined where the text names no image. */
export function parseReference(text: string): Reference | undefined {
  if (text.length > referenceCharactersMax) return undefined;
  const [beforeDigest = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !isDigest(digest))) return undefined;
  const [, path = '', tag] = /^(.*?)(?::([^:/]*))?$/.exec(beforeDigest) ?? [];
  if (tag !== undefined && !tagPattern.test(tag)) return undefined;
  const [first = '', ...others] = path.split('/');
  const hasHost = others.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const host = hasHost ? first : usualHost;
  const name = hasHost ? others.join('/') : path;
  if (!hostPattern.test(host) || !namePattern.test(name)) return undefined;
  return { host, name: host === usualHost && !name.includes('/') ? `library/${name}` : name, tag: tag ?? 'latest', digest };
}

export function requireReference(text: string): Reference {
  const reference = parseReference(text);
  if (reference) return reference;
  throw new Problem(
    'invalid-request',
    `${JSON.stringify(text.slice(0, shownCharactersMax))} is not the name of an image; write one such as registry.example.com/team/web:1.4.`,
  );
}
const shownCharactersMax = 100;

export const textOf = ({ host, name, tag, digest }: Reference) => `${host}/${name}${digest === undefined ? `:${tag}` : `@${digest}`}`;

/** Docker's own registry answers under another name than the one it is called by. */
export const addressOf = (host: string) => (host === usualHost ? 'registry-1.docker.io' : host);
