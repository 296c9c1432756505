/** Which certificates have to come by themselves, and from where: a pure function of who has which host, the settings, and what certificates there are. */
import type { Config } from '../../config.ts';
import { certificatesByName, isNearEnd, namesOf, type Candidate, type ClaimedHost } from './choose-certificates.ts';
import { hostIn, isFor, isPublicName, wildcardOf, type NameConfig } from './own-names.ts';

/** An authority, and whose account at it is used. */
export interface Source {
  /** As a certificate names it: `authority <id>`, or the directory of one that speaks ACME. */
  issued_by: string;
  /** The project that chose the authority; empty where the installation's settings did. */
  owner: string;
}

export interface Wanted extends Source {
  /** Null: for the installation itself. */
  project_id: string | null;
  names: [string, ...string[]];
  /** The certificate whose place it takes; undefined where there is none yet. */
  replaces?: string;
}

export type SourceConfig = NameConfig & Pick<Config, 'acme'>;

export interface Sources {
  config: SourceConfig;
  /** How certificates name the installation's own authority. */
  authority: string;
  /** The directories that projects chose, by project. */
  directories: ReadonlyMap<string, string>;
  /** Projects for which no certificate comes by itself. */
  withoutAutomatic: ReadonlySet<string>;
}

/** Names below the installation's domain are its own matter, whatever a project chose. */
export function sourceOf(
  { config, authority, directories }: Sources,
  projectId: string | null,
  [name]: readonly [string, ...string[]],
): Source {
  const chosen = projectId === null || isBelow(name, config.domain) ? undefined : directories.get(projectId);
  if (chosen !== undefined) return { issued_by: chosen, owner: projectId ?? '' };
  return { issued_by: config.acme?.directoryUrl ?? authority, owner: '' };
}

const isBelow = (name: string, domain: string) => name === domain || name.endsWith(`.${domain}`);

/** Of the installation itself, from a public authority: its wildcard, where DNS can be changed, and the host that people visit it at. */
export function ownWanted({ acme, domain, url }: SourceConfig): [string, ...string[]][] {
  if (!acme) return [];
  const isProvable = acme.dns?.domains.some((each) => isBelow(domain, each)) && isPublicName(domain);
  const shared: [string, ...string[]][] = isProvable ? [[domain, ...wildcardOf(domain)]] : [];
  const host = hostIn(url);
  const isCovered = shared.flat().some((name) => isFor(name, host));
  return isPublicName(host) && !isCovered ? [...shared, [host]] : shared;
}

/** All certificates that have to be had now: for the first time, or anew because the time has come or the authority is another. */
export function wantedCertificates(
  hosts: readonly ClaimedHost[],
  candidates: readonly (Candidate & { renew_at: string | null })[],
  sources: Sources,
  now: Date,
): Wanted[] {
  const own = ownWanted(sources.config);
  const shared = [...own.flat(), ...(sources.config.acme ? [] : wildcardOf(sources.config.domain))];
  const given = certificatesByName(candidates.filter((each) => isGoodGift(each, now)));
  const needed = hosts
    .filter(({ project_id }) => !sources.withoutAutomatic.has(project_id))
    .filter(({ host }) => !shared.some((name) => isFor(name, host)))
    .filter(({ host, project_id }) => !namesOf(host).every((name) => given(name, project_id).length > 0))
    .map(({ host, project_id }) => ({ project_id, names: namesOf(host) }));
  const automatic = new Map(candidates.flatMap((each) => (each.issued_by === null ? [] : [[keyOf(each), each] as const])));
  return [...own.map((names) => ({ project_id: null, names })), ...needed].flatMap(({ project_id, names }) => {
    const source = sourceOf(sources, project_id, names);
    const had = automatic.get(keyOf({ project_id, names }));
    const isGood = had && had.issued_by === source.issued_by && !isDue(had, now);
    return isGood ? [] : [{ ...source, project_id, names, ...(had && { replaces: had.id }) }];
  });
}

const isGoodGift = (each: Candidate, now: Date) => each.issued_by === null && !each.is_invalid && !each.is_revoked && !isNearEnd(each, now);

const isDue = ({ renew_at, expires_at, is_revoked }: Candidate & { renew_at: string | null }, now: Date) =>
  is_revoked || Date.parse(renew_at ?? expires_at) <= now.getTime();

/** The same for a certificate and for what is wanted in its place. */
export const keyOf = ({ project_id, names }: { project_id: string | null; names: readonly string[] }) =>
  JSON.stringify([project_id, names.toSorted()]);
