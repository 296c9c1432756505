/**
 * Restoring: an environment gets the data of a backup and, unless somebody wants only that, runs what ran when it was made; also one that was paused or
 * not active runs then. It does not wait where deployments are manual, and what is staged stays so. The repository stays as it is, and the next deployment
 * is of the branch's head again; only resuming, and redeploying where deployments are manual, start what was restored.
 */
import { Type, type Static } from 'typebox';
import { Damage, type Stored } from '../../drivers/blobs/blobs.ts';
import { activity, startActivity, type Activity, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { environment as named, person, sentence, strong, type Actor } from '../activities/public.ts';
import { currentStack } from '../deployments/public.ts';
import { deployStack, type DeployRequest, type Restoring } from '../deployments/work.ts';
import { environmentById, type Environment } from '../environments/public.ts';
import { makeBranch } from '../environments/work.ts';
import { noteUnrestorable } from './damage.ts';
import type { BackupPart } from './parts.ts';
import { openedStack, type Backup } from './queries.ts';
import { restorableContent } from './restore-queries.ts';
import { withinStoreLimit } from './store-limit.ts';

const Input = Type.Object({
  backup: Type.String(),
  /** The environment that the backup was made of, and the one that it goes to. */
  origin: Type.String(),
  environment: Type.String(),
  /** What the branch of a new environment starts from. */
  branchFrom: Type.Optional(Type.String()),
  restoresCode: Type.Boolean(),
  restoresSizes: Type.Boolean(),
  init: Type.Union([Type.Literal('backup'), Type.Literal('default'), Type.Literal('minimum'), Type.Literal('parent')]),
  /** For an environment that did not run when it was lost: nothing is started. */
  rest: Type.Optional(Type.Union([Type.Literal('paused'), Type.Literal('asleep')])),
});
type Input = Static<typeof Input>;

export const restoreActivity = activity({
  type: 'environment.restore',
  queue: 'default',
  usesMachine: true,
  input: Input,
  run: async (work, platform) => {
    const { environment, branchFrom } = work.input;
    if (branchFrom !== undefined) await makeBranch(work, platform, environment, branchFrom);
    await deployStack(work, platform, await requestFor(work, platform, await findBackup(work, platform)));
  },
});

/** How to restore, besides which backup and where to. */
type Manner = Omit<Input, 'backup' | 'origin' | 'environment'>;

/** `environment` is the one that the backup was made of. */
export function startRestoring(
  tx: Tx,
  { id, environment: origin, commit_id }: Pick<Backup, 'id' | 'environment' | 'commit_id'>,
  target: Environment,
  manner: Manner,
  actor: Actor,
): Promise<Activity> {
  const [wanted, where] = [{ restore_code: manner.restoresCode, restore_resources: manner.restoresSizes }, { environment: target.id }];
  return startActivity(tx, restoreActivity, {
    project_id: target.project_id,
    environments: [target],
    input: { backup: id, origin, ...where, ...manner },
    parameters: { user: actor.id, ...where, backup_name: id, ...wanted, resources: { init: manner.init } },
    payload: { user: actor, ...where, backup_name: id, commit: commit_id },
    sentence: sentence`${person(actor)} restored ${named(target)} from backup ${strong(id)}`,
  });
}

/** What people call the backup. */
export const titleOf = (backup: string, origin: string) => `backup ${backup} of ${origin}`;

/** The step keeps all that the restore needs, sealed, so that it can be undone whatever happens to the backup. */
async function findBackup(work: Work<Input>, platform: Platform): Promise<Restoring> {
  const { input, step, log } = work;
  const { project_id } = work.activity;
  const { db, secrets } = platform;
  const { backup, origin, environment, restoresCode, restoresSizes, init } = input;
  const title = titleOf(backup, origin);
  const { stack_sealed, stored, parts, created_at } = await step('find backup', async () => {
    const found = await restorableContent(db, project_id, backup);
    if (!found) throw new Problem('conflict', `The ${title} was deleted, or found damaged, meanwhile; restore another one.`);
    return found;
  });
  return {
    title,
    stack: openedStack(secrets, backup, stack_sealed),
    restoresCode,
    isElsewhere: environment !== origin,
    init,
    restoresSizes,
    madeAt: created_at,
    parts,
    bytesWithoutHoles: bytesWithoutHoles(stored, parts),
    fetch: (folders, signal) => {
      const onWait = () => log('  Waiting for other backups to be stored or restored');
      const restore = () => platform.blobs.restore(project_id, stored, folders, signal);
      return withinStoreLimit(db, project_id, work, { signal, onWait }, restore).catch(async (error: unknown) => {
        if (error instanceof Damage) await noteUnrestorable(platform, project_id, stored, signal);
        throw error;
      });
    },
  };
}

const holesShareMin = 0.1;
const holesBytesMin = 16 * 2 ** 20;

/** The store writes holes in files as zeros. Parts whose files together are much longer than what they took have holes. */
export function bytesWithoutHoles({ bytes }: Stored, parts: readonly BackupPart[]): number {
  const taken = parts.reduce((sum, part) => sum + part.bytes, 0);
  return bytes > taken * (1 + holesShareMin) + holesBytesMin ? bytes : 0;
}

async function requestFor({ input, activity, step }: Work<Input>, platform: Platform, restoring: Restoring): Promise<DeployRequest> {
  const { environment, rest } = input;
  const { restoresCode } = restoring;
  if (restoresCode) {
    const whole = { environment, commit: restoring.stack.commit_id, restoring: { ...restoring, restoresCode } };
    return rest === undefined ? { ...whole, kind: 'backup' } : { ...whole, kind: 'at rest', rest };
  }
  const now = await step('choose deployment', () => deploymentNow(platform, activity.project_id, environment));
  return { ...now, kind: 'backup data', environment, restoring: { ...restoring, restoresCode } };
}

/** What runs now is deployed again; where nothing runs, the head of the branch is deployed. */
async function deploymentNow({ db, secrets, config }: Platform, projectId: string, environment: string) {
  const stack = await currentStack(db, secrets, projectId, environment);
  if (stack) return { deployment: stack.deployment.id, commit: stack.commit_id };
  const head = (await environmentById(db, config.domain, projectId, environment))?.head_commit;
  if (!head) throw new Problem('conflict', `There is no code in ${environment}; push some, or restore the code of the backup, too.`);
  return { deployment: null, commit: head };
}
