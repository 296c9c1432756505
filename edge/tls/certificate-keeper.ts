/**
 * Certificates and challenges as the main process keeps them. A change is done when it is on disk and every process that serves has it, so that whoever asked
 * for it may tell people that their domain answers.
 */
import { HandingOver } from '../routing/table-keeper.ts';
import type { EdgeCertificate } from './certificate.ts';
import type { CertificateFolder } from './certificate-folder.ts';
import type { Certificates } from './certificates.ts';
import type { Challenges } from './challenges.ts';

export interface CertificateKeeper {
  /** False where a version at least as high is there already. */
  put(certificate: EdgeCertificate): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  /** Removes all other certificates; answers with their ids. */
  keepOnly(ids: ReadonlySet<string>): Promise<string[]>;
  /** The version of each certificate, by id. */
  versions(): Record<string, number>;
  /** Replaces all open challenges. A process that starts later is told of them too; the next main process is not, and has to be told again. */
  challenge(challenges: Challenges): Promise<void>;
  readonly challenges: Challenges;
  /** Reads, at the start, the certificates that an earlier main process has left. */
  load(): void;
  /** Reads again what another main process has left, once that process makes no more changes. */
  reload(): Promise<void>;
  /** Takes no more changes; resolves when those that were under way are done. */
  handOver(): Promise<void>;
  /** Takes changes again, because nobody took over after all. */
  goOn(): void;
}

/** The messages that go to all processes that serve. */
export interface CertificateAudience {
  put(certificates: EdgeCertificate[]): Promise<void>;
  remove(ids: string[]): Promise<void>;
  challenge(challenges: Challenges): Promise<void>;
}

export function openCertificateKeeper(
  certificates: Certificates,
  folder: CertificateFolder,
  audience: CertificateAudience,
): CertificateKeeper {
  let challenges: Challenges = { http: [], tls: [] };
  let isHandingOver = false;
  /** Changes are made one after the other, so that the file of a certificate is always that of its highest version. */
  let last: Promise<unknown> = Promise.resolve();

  const change = <T>(work: () => Promise<T>): Promise<T> => {
    if (isHandingOver) return Promise.reject(new HandingOver('Another process of the edge takes over just now'));
    const done = last.then(work, work);
    last = done;
    return done;
  };
  const removeNow = async (id: string) => {
    if (!certificates.remove(id)) return false;
    await Promise.all([folder.remove(id), audience.remove([id])]);
    return true;
  };

  return {
    put: (certificate) =>
      change(async () => {
        if ((certificates.get(certificate.id)?.version ?? -1) >= certificate.version) return false;
        await folder.write(certificate);
        certificates.put(certificate);
        await audience.put([certificate]);
        return true;
      }),
    remove: (id) => change(() => removeNow(id)),
    keepOnly: (ids) =>
      change(async () => {
        const others = Object.keys(certificates.versions()).filter((id) => !ids.has(id));
        await Promise.all(others.map(removeNow));
        return others;
      }),
    versions: () => certificates.versions(),
    challenge: (open) =>
      change(async () => {
        challenges = open;
        await audience.challenge(open);
      }),
    get challenges() {
      return challenges;
    },
    load() {
      for (const certificate of folder.load()) certificates.put(certificate);
    },
    async reload() {
      const kept = folder.load();
      const ids = new Set(kept.map(({ id }) => id));
      const gone = Object.keys(certificates.versions()).filter((id) => !ids.has(id) && certificates.remove(id));
      const newer = kept.filter((certificate) => certificates.put(certificate));
      await Promise.all([audience.put(newer), audience.remove(gone)]);
    },
    async handOver() {
      isHandingOver = true;
      await last.catch(() => {});
    },
    goOn() {
      isHandingOver = false;
    },
  };
}
