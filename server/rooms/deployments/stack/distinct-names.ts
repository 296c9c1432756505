/** Two things of one environment never share a container or a volume: where their names would, one of them has to be called otherwise. */
import { Problem } from '../../../kernel/problem.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { dataVolume, labelOf } from './names.ts';
import { workersIn } from './workers.ts';

export function refuseNamesAlike(model: Pick<ProjectModel, 'applications' | 'services'>): void {
  const [services, runnables] = [Object.keys(model.services), [...Object.keys(model.applications), ...Object.keys(workersIn(model))]];
  refuseAlike(services, labelOf);
  refuseAlike(runnables, labelOf);
  // `a` of the type `oracle-mysql`, and `a-oracle` of the type `mysql`.
  refuseAlike(services, (name) => dataVolume('', name, model.services[name]?.type ?? ''));
}

function refuseAlike(names: readonly string[], onMachine: (name: string) => string): void {
  const alike = [...Map.groupBy(names, onMachine).values()].find(({ length }) => length > 1);
  if (alike)
    throw new Problem(
      'invalid-request',
      `Invalid deployment: ${alike.map((name) => `'${name}'`).join(' and ')} would have the same name on the machine; rename one of them.`,
    );
}
