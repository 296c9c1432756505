/** The blocks of a store: made of the records of an hour once it is over, and known by how many records they sum up. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { closeSync, fsyncSync, globSync, mkdirSync, openSync, readSync, renameSync, statSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bucketSql } from '../histogram.ts';
import { headerBytes, minutesInPart, narrow, packBlock, partsInHour, readHeader, unpackBlock, type Block } from './block.ts';
import { columnsOf, numbersIn, type Columns } from './database.ts';
import { blocksOfDay, hourSeconds, type Partition } from './partition.ts';

/** Blocks that were read last stay in memory: an answer needs each twice, and whoever looks at a day looks again. */
const keptBytesMax = 128e6;

interface KnownBlock {
  records: number;
  bytes: number;
}

export interface Blocks {
  /** Undefined where there is none, or records have come since it was made. */
  current(partition: Partition, environment: number, hour: number): KnownBlock | undefined;
  read(partition: Partition, environment: number, hour: number): Promise<Block | undefined>;
  make(connection: DuckDBConnection, partition: Partition, environment: number, hour: number): Promise<void>;
  forget(day: number): void;
}

export function openBlocks(folder: string): Blocks {
  /** By day, then by file. */
  const days = new Map<number, Map<string, KnownBlock>>();
  const inDay = (day: number) => {
    const known = days.get(day) ?? knownIn(blocksOfDay(folder, day));
    days.set(day, known);
    return known;
  };
  const kept = keepBlocks();
  return {
    current: ({ day, recordsIn }, environment, hour) => {
      const block = inDay(day).get(nameOf(environment, hour));
      return block?.records === recordsIn(environment, hour) ? block : undefined;
    },
    read: (partition, environment, hour) => {
      const file = join(blocksOfDay(folder, partition.day), nameOf(environment, hour));
      const known = inDay(partition.day).get(nameOf(environment, hour));
      return kept.read(file, known?.records);
    },
    make: async (connection, partition, environment, hour) => {
      const block = await sumUp(connection, partition, environment, hour);
      const packed = packBlock(block);
      writeWhole(blocksOfDay(folder, partition.day), nameOf(environment, hour), packed);
      inDay(partition.day).set(nameOf(environment, hour), { records: block.records, bytes: packed.byteLength });
    },
    forget: (day) => void days.delete(day),
  };
}

interface KeptBlocks {
  read(file: string, records: number | undefined): Promise<Block | undefined>;
}

function keepBlocks(): KeptBlocks {
  /** Those that were used last come last. */
  const kept = new Map<string, { block: Block; bytes: number }>();
  let keptBytes = 0;
  const drop = (file: string) => {
    keptBytes -= kept.get(file)?.bytes ?? 0;
    kept.delete(file);
  };
  return {
    async read(file, records) {
      const found = kept.get(file);
      drop(file);
      const isCurrent = found !== undefined && found.block.records === records;
      const packed = isCurrent ? undefined : await readFile(file);
      const block = packed ? unpackBlock(packed) : found?.block;
      const bytes = packed?.byteLength ?? found?.bytes ?? 0;
      if (!block) return undefined;
      drop(file);
      kept.set(file, { block, bytes });
      keptBytes += bytes;
      for (const [oldest] of kept) if (keptBytes > keptBytesMax) drop(oldest);
      return block;
    },
  };
}

const nameOf = (environment: number, hour: number) => `${environment}-${String(hour).padStart(2, '0')}.block`;

function knownIn(folder: string): Map<string, KnownBlock> {
  const known = new Map<string, KnownBlock>();
  for (const name of globSync('*.block', { cwd: folder })) {
    const file = join(folder, name);
    const header = readHeader(beginningOf(file));
    if (header) known.set(name, { records: header.records, bytes: statSync(file).size });
  }
  return known;
}

function beginningOf(file: string): Buffer {
  const handle = openSync(file, 'r');
  try {
    const beginning = Buffer.alloc(headerBytes);
    readSync(handle, beginning, 0, headerBytes, 0);
    return beginning;
  } finally {
    closeSync(handle);
  }
}

/** A file of this name is whole, also after the power was cut. */
function writeWhole(folder: string, name: string, content: Buffer) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `${name}.new`);
  const handle = openSync(unfinished, 'w', 0o600);
  try {
    for (let written = 0; written < content.length;) written += writeSync(handle, content, written);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(unfinished, join(folder, name));
}

async function sumUp(connection: DuckDBConnection, { catalog }: Partition, environment: number, hour: number): Promise<Block> {
  const from = hour * hourSeconds * 1000;
  const where = `environment = ${environment} and time >= ${from} and time < ${from + hourSeconds * 1000}`;
  const records = `(select * from "${catalog}".records where ${where} union all select * from "${catalog}".recent where ${where})`;
  const cells = await columnsOf(
    connection,
    `select series, (time - ${from}) // 60000 as minute, count(*)::double as count, sum(wt)::double as wt, sum(pmu)::double as pmu,
       sum(stdout)::double as stdout from ${records} group by all order by series, minute`,
  );
  const buckets = await columnsOf(
    connection,
    `select (time - ${from}) // ${60_000 * minutesInPart} as part, series, ${bucketSql('wt')} as bucket, count(*)::double as count
       from ${records} group by all order by part, series, bucket`,
  );
  const series = Uint32Array.from(new Set(numbersIn(cells, 'series')));
  const count = numbersIn(cells, 'count');
  return {
    records: count.reduce((sum, each) => sum + each, 0),
    series,
    cellEnds: cellEnds(series, cells),
    minute: narrow(numbersIn(cells, 'minute')),
    count: narrow(count),
    wt: narrow(numbersIn(cells, 'wt')),
    pmu: narrow(numbersIn(cells, 'pmu')),
    stdout: narrow(numbersIn(cells, 'stdout')),
    bucketEnds: bucketEnds(series, buckets),
    bucket: narrow(numbersIn(buckets, 'bucket')),
    bucketCount: narrow(numbersIn(buckets, 'count')),
  };
}

/** Both come in the order of series. */
function cellEnds(series: Uint32Array, cells: Columns): Uint32Array {
  const seriesOfCell = numbersIn(cells, 'series');
  let cell = 0;
  return series.map((each) => {
    while (cell < seriesOfCell.length && seriesOfCell[cell] === each) cell += 1;
    return cell;
  });
}

function bucketEnds(series: Uint32Array, buckets: Columns): Uint32Array {
  const [parts, seriesOfBucket] = [numbersIn(buckets, 'part'), numbersIn(buckets, 'series')];
  const ends = new Uint32Array(partsInHour * series.length);
  let row = 0;
  for (let nth = 0; nth < ends.length; nth += 1) {
    const [part, each] = [Math.floor(nth / series.length), series[nth % series.length]];
    while (row < parts.length && parts[row] === part && seriesOfBucket[row] === each) row += 1;
    ends[nth] = row;
  }
  return ends;
}
