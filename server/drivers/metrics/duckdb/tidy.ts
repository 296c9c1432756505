/** What is done in a store beside its records coming in: those of a day are put in order, hours that are over are summed up, and what is too old is removed. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Blocks } from './blocks.ts';
import type { Days } from './days.ts';
import { daySeconds, hourSeconds, type Partition } from './partition.ts';
import type { StoreOptions } from './store.ts';

interface TidiedStore {
  days: Days;
  blocks: Blocks;
  writer: DuckDBConnection;
  writing<T>(work: () => Promise<T>): Promise<T>;
  options: StoreOptions;
}

/** What may come late, before an hour is taken to be over. */
const latenessSeconds = 120;

export async function tidyStore({ days, blocks, writer, writing, options }: TidiedStore, now: number): Promise<void> {
  const blocksToMake = (partition: Partition) =>
    partition.kind === 'transactions'
      ? hoursToSumUp(partition, options, now).filter(({ environment, hour }) => !blocks.current(partition, environment, hour))
      : [];
  /** What a process that has ended had still to do. */
  const doWhatIsLeft = async (partition: Partition) => {
    await orderIfDue(partition, options, now);
    for (const { environment, hour } of blocksToMake(partition)) await blocks.make(writer, partition, environment, hour);
  };
  await writing(() => days.removeOld(options.keptDays, now, (day) => blocks.forget(day)));
  await writing(() => days.visitNextUnseen(doWhatIsLeft));
  for (const partition of days.opened()) await writing(() => orderIfDue(partition, options, now));
  for (const partition of days.opened())
    for (const { environment, hour } of blocksToMake(partition)) await writing(() => blocks.make(writer, partition, environment, hour));
}

/** Also a day that is over is put in order, once nothing more is expected. */
async function orderIfDue(partition: Partition, { runRecords }: StoreOptions, now: number) {
  const isOver = now > (partition.day + 1) * daySeconds + latenessSeconds;
  if (partition.recent >= runRecords || (isOver && partition.recent > 0)) await partition.order();
}

const hoursToSumUp = (partition: Partition, { blockRecordsMin }: StoreOptions, now: number) =>
  partition
    .hours()
    .filter(
      ({ hour, records }) => records >= blockRecordsMin && partition.day * daySeconds + (hour + 1) * hourSeconds + latenessSeconds <= now,
    );
