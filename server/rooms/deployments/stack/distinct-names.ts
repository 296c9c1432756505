/** Two things of one environment never share a container or a volume: where their names would, one of them has to be called otherwise. */
import { Problem } from '../../../kernel/problem.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { labelOf } from './names.ts';
import { workersIn } from './workers.ts';

export function refuseNamesAlike(model: Pick<ProjectModel, 'applications' | 'services'>): void {
  for (const names of [Object.keys(model.services), [...Object.keys(model.applications), ...Object.keys(workersIn(model))]]) {
    const alike = [...Map.groupBy(names, labelOf).values()].find(({ length }) => length > 1);
    if (alike)
      throw new Problem(
        'invalid-request',
        `Invalid deployment: ${alike.map((name) => `'${name}'`).join(' and ')} would have the same name on the machine; rename one of them.`,
      );
  }
}
