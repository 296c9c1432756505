/** The host's default branch is the project's, as long as nothing was ever deployed from another one. */
import { Problem } from '../../../kernel/problem.ts';
import type { Work } from '../../../kernel/activity.ts';
import type { Platform } from '../../../platform.ts';
import { environmentById, isBranchName } from '../../environments/public.ts';
import { changeDefaultBranch, createEnvironment } from '../../environments/work.ts';
import { mirrorRow, type Mirror } from './mirror.ts';

export async function followDefaultBranch(
  { step, record, log }: Work<unknown>,
  platform: Platform,
  { integration, project }: Mirror,
): Promise<void> {
  const { db, config, git } = platform;
  const wanted = await step('find default branch', async () => {
    const branch = (await mirrorRow(db, integration.id))?.default_branch ?? null;
    const production = await environmentById(db, config.domain, project.id, project.default_branch);
    return branch !== null && branch !== project.default_branch && isBranchName(branch) && !production?.has_code ? branch : null;
  });
  if (wanted === null) return;
  log(`${wanted} is the default branch at the host, and from now on that of the project`);
  try {
    await record('change default branch', async (tx) => {
      const existing = await environmentById(tx, config.domain, project.id, wanted);
      if (!existing) await createEnvironment(tx, { project, id: wanted, parent: null });
      await changeDefaultBranch(tx, project, wanted);
    });
    await step('point HEAD', () => git.setDefaultBranch(project.id, wanted));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    log(`W: It stays ${project.default_branch}: ${error.message}`);
  }
}
