/** Everything that is checked. A new check is a row here. The names are what receivers are told, so they stay. */
import { certificateEnd, certificateRefusal, certificateRenewal } from './certificates.ts';
import type { Check } from './check.ts';
import { backup, deployment } from './failures.ts';
import { disk, memory } from './resources.ts';
import { errors, outOfMemory, restarts, start } from './running.ts';

export const checks = {
  disk,
  memory,
  out_of_memory: outOfMemory,
  restarts,
  start,
  errors,
  certificate_end: certificateEnd,
  certificate_renewal: certificateRenewal,
  certificate_refusal: certificateRefusal,
  deployment,
  backup,
} satisfies Record<string, Check>;

export type CheckName = keyof typeof checks;

export const checkNames = Object.keys(checks) as CheckName[];

/** What an alert is called; one of a check that an earlier version had is called after it. */
export const titleOf = (name: string, subject: string): string =>
  Object.hasOwn(checks, name) ? checks[name as CheckName].title(subject) : `${name} ${subject}`.trim();
