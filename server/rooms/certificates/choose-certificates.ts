/** Which certificate is presented for which host: a pure function of who has which host, and of what certificates there are. */
import { isFor, wildcardOf } from './own-names.ts';

export interface ClaimedHost {
  host: string;
  project_id: string;
}

/** A name of the installation itself has nobody. */
type Asked = { host: string; project_id: string | null };

export interface Candidate {
  id: string;
  /** Null: it is the installation's own, and good for whoever has the host. */
  project_id: string | null;
  names: readonly string[];
  expires_at: string;
  /** Null where people gave it. */
  issued_by: string | null;
  is_invalid: boolean;
  /** The issuer has taken it back. */
  is_revoked: boolean;
  /** Clients are to refuse it without an answer of the issuer, which is not there. */
  lacks_answer: boolean;
}

/** A certificate that people gave and that ends this soon gives way to one that comes by itself. */
export const nearEndDays = 7;
const dayMilliseconds = 86_400_000;

export const isNearEnd = ({ expires_at }: Pick<Candidate, 'expires_at'>, now: Date) =>
  Date.parse(expires_at) - now.getTime() < nearEndDays * dayMilliseconds;

/** The names that clients may ask for where an environment has the host: a wildcard includes the name that it is below. */
export const namesOf = (host: string): [string, ...string[]] => (host.startsWith('*.') ? [host, host.slice(2)] : [host]);

/** The hosts that each certificate is presented for, by its id. */
export function chooseCertificates(hosts: readonly Asked[], candidates: readonly Candidate[], now: Date): Map<string, string[]> {
  const find = certificatesByName(candidates.filter((each) => !each.is_invalid && Date.parse(each.expires_at) > now.getTime()));
  const chosen = new Map<string, string[]>();
  for (const { host, project_id } of hosts)
    for (const name of project_id === null ? [host] : namesOf(host)) {
      const [best] = find(name, project_id).toSorted((one, other) => rank(other, now) - rank(one, now) || byExpiry(one, other));
      // The installation's own are presented for all that they name, whoever has the host.
      if (best && (best.project_id !== null || project_id === null)) chosen.set(best.id, [...(chosen.get(best.id) ?? []), name]);
    }
  return chosen;
}

/** The higher one is preferred: what people gave, unless it ends soon. What clients refuse is presented where there is nothing else. */
function rank(candidate: Candidate, now: Date): number {
  if (candidate.is_revoked || candidate.lacks_answer) return -1;
  if (candidate.issued_by === null) return isNearEnd(candidate, now) ? 0 : 4;
  if (candidate.project_id !== null) return 3;
  return isOfOwnAuthority(candidate) ? 1 : 2;
}

const isOfOwnAuthority = ({ issued_by }: Candidate) => issued_by?.startsWith('authority ') ?? false;

const byExpiry = (one: Candidate, other: Candidate) =>
  Date.parse(other.expires_at) - Date.parse(one.expires_at) || one.id.localeCompare(other.id);

/** Finds the certificates that a project can use for a name in two lookups: thousands of hosts are looked up at a time. */
export function certificatesByName<C extends Pick<Candidate, 'names' | 'project_id'>>(certificates: readonly C[]) {
  const byName = Map.groupBy(
    certificates.flatMap((certificate) => certificate.names.map((name) => ({ name, certificate }))),
    ({ name }) => name,
  );
  return (host: string, projectId: string | null): C[] =>
    [host, ...wildcardsFor(host)]
      .flatMap((name) => byName.get(name) ?? [])
      .filter(({ name, certificate: { project_id } }) => isFor(name, host) && (project_id === null || project_id === projectId))
      .map(({ certificate }) => certificate);
}

const wildcardsFor = (host: string) => (host.startsWith('*.') ? [] : wildcardOf(host.slice(host.indexOf('.') + 1)));
