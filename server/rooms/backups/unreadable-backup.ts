import { Problem } from '../../kernel/problem.ts';

/** The description of a backup was written by another version of the platform, or by another program. */
export class UnreadableBackup extends Problem {
  constructor(what: string, flaw: string, cause?: unknown) {
    super('conflict', `${what} cannot be used by this version of the platform: ${flaw}.`, { cause });
  }
}
