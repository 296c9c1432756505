/**
 * What a change of sizes would do to what runs, found by the same plan that a deployment follows (stack/plan.ts), and what everything would come to. Nothing
 * is written down, and what a change would be refused for is refused here as well.
 */
import { Type, type Static } from 'typebox';
import { Problem } from '../../../kernel/problem.ts';
import { closed, nullable } from '../../../kernel/schema.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { Platform } from '../../../platform.ts';
import { environmentLife } from '../../environments/life-cycle.ts';
import { usualSizes, type NextStack } from '../deploy/next-stack.ts';
import { sizesFrom } from '../deploy/ongoing-deployment.ts';
import { currentlyDeployed, subjectOf, type Deployed } from '../queries.ts';
import { planDeployment, type Plan } from '../stack/plan.ts';
import type { Size, SizeGroup, Sizes } from '../stack/stack.ts';
import { kinds, type Amounts } from './amounts.ts';
import { amountsOf, refuseMoreThanThereIs } from './capacity.ts';
import { sizeGroups, together, type ChosenSizes } from './chosen-sizes.ts';
import { notedAmounts } from './machine-amounts.ts';
import { quotasOn } from './quotas.ts';
import { sizesAsFarAs, type SizesFrom } from './sizes.ts';

const effects = {
  start: 'It is started: it does not run now.',
  restart: 'It is stopped and started again.',
  resize: 'It goes on running with other limits.',
  keep: 'Nothing happens to what runs of it.',
} as const;
type Effect = keyof typeof effects;

const Sized = closed({
  profile_size: Type.String(),
  instance_count: Type.Integer(),
  disk: nullable(Type.Integer({ description: 'MB' })),
});

const Sum = closed({ cpu: Type.Number(), memory: Type.Number({ description: 'MB' }), disk: Type.Number({ description: 'MB' }) });

export const SizesPreview = closed({
  containers: Type.Array(
    closed({
      kind: Type.String({ enum: [...sizeGroups] }),
      name: Type.String(),
      before: nullable(Sized),
      after: Sized,
      effect: Type.String({
        enum: Object.keys(effects),
        description: Object.entries(effects)
          .map((each) => each.join(': '))
          .join(' '),
      }),
    }),
  ),
  interrupts: Type.Boolean({ description: 'Whether visitors wait while it is done, because something is away for a while.' }),
  is_staged: Type.Boolean({ description: 'Deployments are manual here: it is done when somebody deploys what is staged.' }),
  before: Sum,
  after: Sum,
  limits: Type.Array(
    closed({
      of: Type.String({ enum: ['organization', 'project'] }),
      name: Type.String(),
      allowed: closed(Object.fromEntries(kinds.map((kind) => [kind, nullable(Type.Number())]))),
      used_by_others: Sum,
    }),
  ),
});

const nothing: Amounts = { cpu: 0, memory: 0, disk: 0 };

/** Throws a Problem where the change would be refused. */
export async function previewSizes(
  tx: Tx,
  { config, secrets }: Pick<Platform, 'config' | 'secrets'>,
  { project_id, id }: { project_id: string; id: string },
  { stack: { model } }: NextStack,
  chosen: ChosenSizes,
): Promise<Static<typeof SizesPreview>> {
  const subject = await subjectOf(tx, project_id, id);
  if (!subject) throw new Problem('not-found', 'No such environment.');
  const current = await currentlyDeployed(tx, secrets, project_id, id);
  const from = await sizesFrom(tx, subject, await usualSizes(tx, config, subject, subject.stack_id !== null));
  const changed = { ...from, chosen: together(from.chosen ?? {}, chosen) };
  const { sizes } = sizesAsFarAs(model, changed);
  const after = amountsOf(model, sizes);
  await refuseMoreThanThereIs(tx, config, subject, after, await notedAmounts(tx));
  const plan = environmentLife.possible(subject.status, 'serve') ? planOf(current, changed) : undefined;
  return {
    containers: containersIn(sizes, current?.stack.sizes, plan),
    interrupts: plan?.interrupts ?? false,
    is_staged: subject.enable_manual_deployments,
    before: current ? amountsOf(current.stack.model, current.stack.sizes) : nothing,
    after,
    limits: (await quotasOn(tx, subject)).map(({ of, name, cpu, memory, disk, used }) => ({
      of,
      name,
      allowed: { cpu, memory, disk },
      used_by_others: { cpu: used.cpu, memory: used.memory, disk: used.disk },
    })),
  };
}

/** What the sizes alone do to what runs; other code that waits to be deployed has nothing to do with it. */
function planOf(current: Deployed | undefined, from: SizesFrom): Plan | undefined {
  if (!current) return undefined;
  const sizes = sizesAsFarAs(current.stack.model, from).sizes;
  return planDeployment({ ...current.stack, sizes }, current, { restart: false });
}

const containersIn = (after: Sizes, before: Sizes | undefined, plan: Plan | undefined) =>
  sizeGroups.flatMap((kind) =>
    Object.entries(after[kind]).map(([name, size]) => {
      const was = before && Object.hasOwn(before[kind], name) ? before[kind][name] : undefined;
      return { kind, name, before: was ?? null, after: size, effect: effectOn(kind, name, was, size, plan) };
    }),
  );

/** Tasks run when somebody runs them. */
function effectOn(kind: SizeGroup, name: string, before: Size | undefined, after: Size, plan: Plan | undefined): Effect {
  if (kind === 'tasks') return 'keep';
  const action = [...(plan?.services ?? []), ...(plan?.instances ?? [])].find((change) => change.name === name)?.action;
  if (action === 'replace') return 'restart';
  if (action === 'keep') return before?.profile_size === after.profile_size ? 'keep' : 'resize';
  // Storage is a volume, and no container.
  return plan && before && !action ? 'keep' : 'start';
}
