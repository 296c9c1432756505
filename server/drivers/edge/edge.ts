/**
 * The edge, as the rest of the platform sees it: told what to serve, in a process of its own that outlives ours. Everything may be asked twice. A
 * request waits for an edge that is just being started or upgraded, and throws `unavailable` when none comes back.
 */
import type { EdgeStatus } from '../../../edge/process/control.ts';
import type { LastVisits } from '../../../edge/routing/last-visits.ts';
import type { RecordedRequest } from '../../../edge/logs/request-batch.ts';
import type { EdgeEnvironment } from '../../../edge/routing/table.ts';
import type { EdgeCertificate } from '../../../edge/tls/certificate.ts';
import type { Challenges } from '../../../edge/tls/challenges.ts';

export type { Challenges, EdgeCertificate, EdgeEnvironment, EdgeStatus, LastVisits, RecordedRequest };

/** Requests that have ended. */
export interface RecordedRequests {
  requests: RecordedRequest[];
  /** How many are missing before these, because nobody took them in time. */
  dropped: number;
}

export interface Edge {
  /**
   * Resolves when every process of the edge has it, so that what it no longer names may be drained and stopped. Of two, the one with the higher
   * version stays. Throws `invalid-request`, with what is wrong by field.
   */
  put(environment: EdgeEnvironment): Promise<void>;
  remove(cluster: string): Promise<void>;
  /** Cluster to version. */
  list(): Promise<Record<string, number>>;
  /** Removes all others, and answers which. */
  keepOnly(clusters: readonly string[]): Promise<string[]>;
  /**
   * Resolves when every process presents it to whoever asks for one of its names; connections that are open go on. Of two, the one with the higher version
   * stays. Throws `invalid-request`, with what is wrong with it.
   */
  putCertificate(certificate: EdgeCertificate): Promise<void>;
  removeCertificate(id: string): Promise<void>;
  /** Id to version. Nobody is told a key, and an edge that was started anew knows none. */
  certificates(): Promise<Record<string, number>>;
  /** Removes all others, and answers which. */
  keepOnlyCertificates(ids: readonly string[]): Promise<string[]>;
  /** All proofs that authorities may ask for now. An edge that was started anew or upgraded since has to be told again. */
  challenge(challenges: Challenges): Promise<void>;
  /** Waits until no request is at the instance, which the table should no longer name; answers how many were left after `secondsMax`. */
  drain(cluster: string, instance: string, secondsMax: number): Promise<number>;
  /** Called for each environment that sleeps and is asked for; again after a lost connection, until its entry has changed. Answers how to stop that. */
  onWake(listener: (cluster: string) => void): () => void;
  /** How long ago environments were last asked for something. */
  visits(): Promise<LastVisits>;
  /** Requests of environments within half a second of their end, until aborted. What is not read in time is dropped, and the number of the dropped told. */
  records(signal: AbortSignal): AsyncIterable<RecordedRequests>;
  status(): Promise<EdgeStatus>;
  /** Lets it see volumes whose place was made, or mounted, since it was opened. */
  showVolumes(): Promise<void>;
  /** Ends the edge, which serves until requests have finished. Only for those who want no edge any more. */
  stop(secondsMax: number): Promise<void>;
  /** Lets go of the edge, which goes on serving. */
  close(): Promise<void>;
}
