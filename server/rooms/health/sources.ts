/** What is known of an environment at one look, for checks to read. What could not be had, or was not asked for, is undefined. */
import type { ResourcesRow, Traffic } from '../../drivers/metrics/questions.ts';

export interface Sources {
  /** What instances and their disks used over the last minutes. */
  resources?: readonly ResourcesRow[];
  /** The requests of the last minutes. */
  traffic?: Pick<Traffic, 'timeline'>;
  /** What became of instances over the last minutes. */
  incidents?: readonly Incident[];
  /** Why what should run could not be started; null where it runs. */
  start?: { failure: string | null };
  certificates?: readonly ServedCertificate[];
  /** Certificates that are being had, and were refused. */
  refusals?: readonly RefusedCertificate[];
  /** The last attempt to deploy; null where there was none. */
  deployment?: { last: { successful: boolean; reason: string | null } | null };
  /** The last backups, the newest first. */
  backups?: readonly EndedBackup[];
}

export interface Incident {
  kind: 'restart' | 'out of memory';
  service: string;
  count: number;
}

export interface ServedCertificate {
  /** The names that it is presented for. */
  serves: string[];
  is_automatic: boolean;
  /** Until its end. */
  days_left: number;
  /** Of an automatic one: how much of the time between its renewal and its end is over, in percent; null: its renewal is not yet due. */
  overdue_percent: number | null;
  /** Why it was not renewed. */
  trouble: string | null;
}

export interface RefusedCertificate {
  names: string[];
  refusals: number;
  trouble: string | null;
}

export interface EndedBackup {
  result: 'success' | 'failure';
  sentence: string | null;
}

/** How far back measurements, and what became of instances, are looked at. */
export const measuredSeconds = 300;
export const incidentSeconds = 900;
/** How many backups in a row are looked at. */
export const backupsMax = 5;
