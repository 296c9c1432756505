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
  /** False: a version at least as high is there already. */
  put(certificate: EdgeCertificate): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  /** Removes all others; answers which. */
  keepOnly(ids: ReadonlySet<string>): Promise<string[]>;
  /** Id to version. */
  versions(): Record<string, number>;
  /** All that are open now. A process that starts later is told of them too; the next main process is not, and has to be told again. */
  challenge(challenges: Challenges): Promise<void>;
  readonly challenges: Challenges;
  /** At the start: what an earlier main process has left. */
  load(): void;
  /** What another main process has left since: it changes no more. */
  reload(): Promise<void>;
  /** Takes no more changes; resolves when all is done that was under way. */
  handOver(): Promise<void>;
  /** Nobody took over after all. */
  goOn(): void;
}

/** What can be told to all processes. */
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
  /** One after the other: of two versions of one certificate, the file is that of the higher. */
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
