import type { Db, Tx } from '../../kernel/sql.ts';
import { nudge } from '../../kernel/reconciler.ts';
import type { Platform } from '../../platform.ts';
import { currentSizes, instanceCountsOf } from '../deployments/public.ts';
import { instancesMaxOf, lockTree, type Environment } from '../environments/public.ts';
import { autoscale } from './autoscale.ts';
import { checkedSettings } from './checked-settings.ts';
import { keepSettings, saidSettings } from './queries.ts';
import { defaults, settingsFrom, shownSettings, type AutoscalingSettings, type SettingsChange } from './settings.ts';

/** Each app and worker that is deployed, whether somebody said something about it or not. */
export async function effectiveSettings(db: Db | Tx, environment: Environment): Promise<AutoscalingSettings> {
  const { project_id, id } = environment;
  const instancesMax = instancesMaxOf(environment);
  const [sizes, said] = [await currentSizes(db, project_id, id), await saidSettings(db, project_id, id)];
  const names = Object.keys(sizes ? instanceCountsOf(sizes) : {}).sort();
  return {
    defaults: defaults(instancesMax),
    services: Object.fromEntries(names.map((name) => [name, shownSettings(said[name] ?? {}, instancesMax)])),
  };
}

/** Whoever switches everything off keeps the number of instances that there is. */
export const changeSettings = ({ db }: Platform, environment: Environment, change: SettingsChange): Promise<AutoscalingSettings> =>
  db.transaction().execute(async (tx) => {
    const { project_id, id: environment_id } = environment;
    await lockTree(tx, project_id);
    const sizes = await currentSizes(tx, project_id, environment_id);
    const instancesMax = instancesMaxOf(environment);
    const settings = checkedSettings(change, {
      scalable: sizes ? Object.keys(instanceCountsOf(sizes)) : [],
      workers: Object.keys(sizes?.workers ?? {}),
      singletons: Object.keys(sizes?.services ?? {}),
      instancesMax,
      said: await saidSettings(tx, project_id, environment_id),
    });
    for (const [service, said] of Object.entries(settings)) {
      const is_on = settingsFrom(said, instancesMax).enabled;
      await keepSettings(tx, { project_id, environment_id, service, settings: said, is_on });
    }
    await nudge(tx, autoscale);
    return effectiveSettings(tx, environment);
  });
