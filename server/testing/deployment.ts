import { shortId } from '../kernel/id.ts';
import type { EnvironmentType } from '../permissions.ts';
import type { Platform } from '../platform.ts';
import type { Stack } from '../rooms/deployments/public.ts';
import { ensureEntropy, insertDeployment, makeCurrent } from '../rooms/deployments/work.ts';
import { sampleStack, shop } from './stack.ts';

/** Writes down that the stack is what the environment runs. Nothing runs. */
export async function deploySample(
  { db, secrets }: Platform,
  address: { projectId: string; environmentId: string },
  changes: Partial<Stack> = {},
) {
  const { projectId, environmentId } = address;
  const { type, machine_name, organization_id, default_branch } = await db
    .selectFrom('environments')
    .innerJoin('projects', 'projects.id', 'environments.project_id')
    .select(['environments.type', 'machine_name', 'organization_id', 'default_branch'])
    .where('environments.project_id', '=', projectId)
    .where('environments.id', '=', environmentId)
    .executeTakeFirstOrThrow();
  return db.transaction().execute(async (tx) => {
    const entropy = await ensureEntropy(tx, secrets, projectId);
    const stack = sampleStack(shop(), {
      id: shortId(),
      deployment: { id: shortId(), number: 1, created_at: '2026-11-15T09:00:00.123456+00:00' },
      project: { id: projectId, title: 'Sample', organization_id, entropy },
      environment: { id: environmentId, machine_name, type: type as EnvironmentType, is_main: environmentId === default_branch },
      ...changes,
    });
    await insertDeployment(tx, secrets, { stack, generations: {} }, shortId());
    await makeCurrent(tx, stack);
    return stack;
  });
}
