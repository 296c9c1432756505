/** What the machine has, how much of it may be given out, and how much is. */
import { availableParallelism, totalmem } from 'node:os';
import { Type, type Static } from 'typebox';
import { nullable } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import { machineUse } from '../deployments/work.ts';

const megabyte = 2 ** 20;

const Amount = Type.Object({
  there: Type.Unsafe<number | null>({ ...nullable(Type.Number()), description: 'What the machine has; null where nobody has looked yet.' }),
  overcommit: Type.Number({ description: 'How often the same may be given out, as the settings say.' }),
  given: Type.Number({ description: 'What environments were given.' }),
});

export const Resources = Type.Object({
  cpu: Type.Object({ ...Amount.properties }, { description: 'Processors.' }),
  memory: Type.Object({ ...Amount.properties }, { description: 'Megabytes of memory.' }),
  disk: Type.Object({ ...Amount.properties }, { description: 'Megabytes of disk, for volumes and logs.' }),
  environments: Type.Object({ running: Type.Integer(), paused: Type.Integer(), sleeping: Type.Integer() }),
});

export async function resourcesNow({ db, config: { overcommit } }: Platform): Promise<Static<typeof Resources>> {
  const { given, there, environments } = await machineUse(db);
  const amount = (kind: 'cpu' | 'memory' | 'disk', seen: number | null) => ({
    there: seen,
    overcommit: overcommit[kind],
    given: given[kind],
  });
  return {
    cpu: amount('cpu', there?.cpu ?? availableParallelism()),
    memory: amount('memory', there?.memory ?? totalmem() / megabyte),
    disk: amount('disk', there?.disk ?? null),
    environments,
  };
}
