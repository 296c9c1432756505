/** What instances used, by service or by instance, over time or over all. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { isTooMuch, type TooMuch } from '../metrics.ts';
import {
  aggregates,
  limitMeasures,
  limitMountMeasures,
  usedMeasures,
  usedMountMeasures,
  type Aggregates,
  type ResourcesQuestion,
  type ResourcesRow,
} from '../questions.ts';
import { columnsOf, numbersIn, textsIn } from './database.ts';
import { daySeconds, type Partition } from './partition.ts';
import { allRecords, tooLong, type Bounds } from './pieces.ts';

type Aggregate = (typeof aggregates)[number];

const percentileSql = (percent: number) => (measure: string) => `quantile_disc(${measure}, ${percent / 100})`;
const sqlOf: Record<Aggregate, (measure: string) => string> = {
  min: (measure) => `min(${measure})`,
  max: (measure) => `max(${measure})`,
  avg: (measure) => `avg(${measure})`,
  stddev: (measure) => `stddev_pop(${measure})`,
  p50: percentileSql(50),
  p95: percentileSql(95),
  p96: percentileSql(96),
  p97: percentileSql(97),
  p98: percentileSql(98),
  p99: percentileSql(99),
};

interface Measured {
  used: readonly string[];
  limits: readonly string[];
  /** What SQL calls the mount; empty where there is none. */
  mount: string;
}

const ofInstances: Measured = { used: usedMeasures, limits: limitMeasures, mount: "''" };
const ofMounts: Measured = { used: usedMountMeasures, limits: limitMountMeasures, mount: 'mount' };

export async function answerResources(
  connection: DuckDBConnection,
  partitions: Record<'samples' | 'mounts', readonly Partition[]>,
  question: ResourcesQuestion,
  bounds: Bounds,
): Promise<ResourcesRow[] | TooMuch> {
  const refusal = tooLong(question, question.grain ?? question.to - question.from, bounds);
  if (refusal) return refusal;
  const answers: ResourcesRow[] = [];
  for (const [kind, measured] of [['samples', ofInstances] as const, ['mounts', ofMounts] as const]) {
    const rows = await rowsOf(connection, partitions[kind], question, bounds, measured);
    if (isTooMuch(rows)) return rows;
    answers.push(...rows.map((row) => (kind === 'samples' ? { ...row, mount: undefined } : row)));
  }
  return answers;
}

async function rowsOf(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  question: ResourcesQuestion,
  bounds: Bounds,
  measured: Measured,
): Promise<ResourcesRow[] | TooMuch> {
  const pieces = allRecords(partitions, question, question, bounds);
  if (isTooMuch(pieces) || pieces.length === 0) return pieces as TooMuch | [];
  const { used, limits, mount } = measured;
  const { grain, byInstance, services } = question;
  const places = services?.values.map((_, nth) => `$${nth + 1}`).join(', ') ?? '';
  const isListed = places === '' ? 'false' : `service in (${places})`;
  const isWanted = !services ? 'true' : services.mode === 'additive' ? isListed : `not (${isListed})`;
  const parts = pieces.flatMap(({ partition, environment, from, to }) =>
    ['records', 'recent'].map(
      (table) =>
        `select time // 1000 + ${partition.day * daySeconds} as second, service, instance, ${mount} as mount, ${[...used, ...limits].join(', ')}
         from "${partition.catalog}".${table} where environment = ${environment} and time >= ${from} and time < ${to} and ${isWanted}`,
    ),
  );
  const measures = [
    ...used.flatMap((name) => aggregates.map((aggregate) => `${sqlOf[aggregate](name)}::double as ${name}_${aggregate}`)),
    ...limits.map((name) => `max(${name})::double as ${name}`),
  ];
  const rows = await columnsOf(
    connection,
    `select ${grain === undefined ? '0' : `second // ${grain} * ${grain}`}::double as point, service, ${byInstance ? 'instance' : "''"} as instance, mount,
       ${measures.join(', ')} from (${parts.join(' union all ')}) group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [...(services?.values ?? [])],
  );
  const at = (column: string, nth: number) => numbersIn(rows, column)[nth] ?? 0;
  return textsIn(rows, 'service').map((service, nth) => ({
    timestamp: grain === undefined ? undefined : at('point', nth),
    service,
    instance: byInstance ? textsIn(rows, 'instance')[nth] : undefined,
    mount: textsIn(rows, 'mount')[nth],
    used: Object.fromEntries(
      used.map((name) => [name, Object.fromEntries(aggregates.map((each) => [each, at(`${name}_${each}`, nth)])) as Aggregates]),
    ),
    limits: Object.fromEntries(limits.map((name) => [name, at(name, nth)])),
  }));
}
