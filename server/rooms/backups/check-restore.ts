/**
 * What a restore would be, as far as it can be told when somebody asks for it: where it would get more than there is, or where its data means nothing to
 * what would run on it, that is refused with the reply; so it is where the pool had no room for it half a minute ago. The activity looks again.
 */
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { modelIfReadable, refuseRestoreEarly, type RestoredData, type RestorePlan } from '../deployments/work.ts';
import { environmentById, type Environment } from '../environments/public.ts';
import { openedStack, type Backup } from './queries.ts';
import { bytesWithoutHoles, titleOf } from './restore-backup.ts';
import { restorableContent } from './restore-queries.ts';

export interface AskedRestore extends Pick<RestorePlan, 'restoresCode' | 'restoresSizes' | 'init'> {
  environment: string;
  /** The environment that a new one is branched off, where the target does not exist yet. */
  branchFrom: string;
}

export type Refuse = (tx: Tx, target: Environment) => Promise<void>;

/** Reads the backup, and the repository where only data is wanted: ask before the transaction, and have it refused within. */
export async function checkRestore(platform: Platform, backup: Backup, asked: AskedRestore): Promise<Refuse> {
  const { project_id, id, environment: origin } = backup;
  const { environment, restoresCode, restoresSizes, init } = asked;
  const content = await restorableContent(platform.db, project_id, id);
  if (!content) return async () => {};
  const { stored, parts } = content;
  const plan: RestorePlan & RestoredData = {
    title: titleOf(id, origin),
    stack: openedStack(platform.secrets, id, content.stack_sealed),
    restoresCode,
    restoresSizes,
    init,
    isElsewhere: environment !== origin,
    parts,
    bytesWithoutHoles: bytesWithoutHoles(stored, parts),
  };
  const model = restoresCode ? undefined : await modelIfReadable(platform, { project_id, id: await branchOf(platform, project_id, asked) });
  return (tx, target) => refuseRestoreEarly(tx, platform, target, plan, model);
}

/** The branch that the code is on, or that a new environment takes it from. */
async function branchOf({ db, config }: Platform, projectId: string, { environment, branchFrom }: AskedRestore): Promise<string> {
  return (await environmentById(db, config.domain, projectId, environment)) ? environment : branchFrom;
}
