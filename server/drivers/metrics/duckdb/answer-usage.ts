/** What each environment used in each hour: what billing and the carbon account are made of. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { diskMount, type Kind, type Usage } from '../metrics.ts';
import type { UsageQuestion } from '../questions.ts';
import { columnsOf, numbersIn, textsIn } from './database.ts';
import { daySeconds, hourSeconds, type Partition } from './partition.ts';

type Summed = Exclude<keyof Usage, 'project' | 'environment' | 'service' | 'hour'>;

/** Which sums come from records of which kind. */
const sumsOf: Partial<Record<Kind, Partial<Record<Summed, string>>>> = {
  transactions: { transactions: 'count(*)' },
  requests: { requests: 'count(*)', requestBytes: 'sum(request_bytes)', responseBytes: 'sum(response_bytes)' },
  samples: {
    cpuSeconds: 'sum(cpu_used * seconds)',
    memoryByteSeconds: 'sum(memory_used * seconds)',
    receivedBytes: 'sum(received_bytes)',
    sentBytes: 'sum(sent_bytes)',
  },
  mounts: {
    diskByteSeconds: 'sum(disk_used * seconds)',
    storedByteSeconds: `coalesce(sum(disk_used * seconds) filter (where mount = '${diskMount}'), 0)`,
  },
};

/** What records of each kind have for a service. */
const serviceOf: Partial<Record<Kind, string>> = { requests: 'application', samples: 'service', mounts: 'service' };

export const usageKinds = Object.keys(sumsOf) as Kind[];

const nothing: Record<Summed, number> = {
  transactions: 0,
  requests: 0,
  requestBytes: 0,
  responseBytes: 0,
  cpuSeconds: 0,
  memoryByteSeconds: 0,
  diskByteSeconds: 0,
  storedByteSeconds: 0,
  receivedBytes: 0,
  sentBytes: 0,
};

export async function answerUsage(
  connection: DuckDBConnection,
  partitions: readonly Partition[],
  question: UsageQuestion,
): Promise<Usage[]> {
  const found = new Map<string, Usage>();
  for (const { kind, catalog, day, environmentId } of partitions) {
    const sums = Object.entries(sumsOf[kind] ?? {});
    const environment = question.scope && (environmentId(question.scope) ?? 0);
    const start = day * daySeconds;
    const ofService = (question.byService && serviceOf[kind]) || "''";
    const where = `time >= ${(question.from - start) * 1000} and time < ${(question.to - start) * 1000}${environment === undefined ? '' : ` and environment = ${environment}`}`;
    const rows = await columnsOf(
      connection,
      `select known.project, known.environment, service, hour, ${sums.map(([name]) => `"${name}"`).join(', ')} from (
         select environment as id, ${ofService} as service, time // ${hourSeconds * 1000} as hour, ${sums.map(([name, sql]) => `(${sql})::double as "${name}"`).join(', ')}
         from (select * from "${catalog}".records where ${where} union all select * from "${catalog}".recent where ${where}) group by all
       ) join "${catalog}".environments as known using (id)`,
    );
    for (const [nth, ofDay] of numbersIn(rows, 'hour').entries()) {
      const [project = '', name = '', service = ''] = ['project', 'environment', 'service'].map((column) => textsIn(rows, column)[nth]);
      const hour = start + ofDay * hourSeconds;
      const key = JSON.stringify([project, name, service, hour]);
      const usage = found.get(key) ?? { project, environment: name, ...(question.byService && { service }), hour, ...nothing };
      for (const [sum] of sums) usage[sum as Summed] = numbersIn(rows, sum)[nth] ?? 0;
      found.set(key, usage);
    }
  }
  const order = (one: Usage, other: Usage) =>
    one.hour - other.hour ||
    one.project.localeCompare(other.project) ||
    one.environment.localeCompare(other.environment) ||
    (one.service ?? '').localeCompare(other.service ?? '');
  return [...found.values()].toSorted(order);
}
