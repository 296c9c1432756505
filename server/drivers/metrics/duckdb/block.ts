/**
 * The transactions of one environment and one hour, summed up: for each series and minute how many there were and what they took, for each series and ten minutes a histogram of their wall
 * times. A block is a few columns of numbers, each as narrow as its largest number allows, which are scanned as they lie in the file.
 */

export interface Block {
  /** How many transactions are summed up. With more in the store by now, the block is out of date. */
  records: number;
  series: Uint32Array;
  /** For each series: where its cells end. They begin where those of the series before end. */
  cellEnds: Uint32Array;
  minute: Numbers;
  count: Numbers;
  wt: Numbers;
  pmu: Numbers;
  stdout: Numbers;
  /** For each ten minutes, and therein for each series: where its buckets end. */
  bucketEnds: Uint32Array;
  bucket: Numbers;
  bucketCount: Numbers;
}

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export const minutesInPart = 10;
export const partsInHour = 6;

const arrays = { Uint8Array, Uint16Array, Uint32Array, Float64Array };
type ArrayName = keyof typeof arrays;

/** The narrowest array that holds all of them. */
export function narrow(values: ArrayLike<number>): Numbers {
  let most = 0;
  for (let nth = 0; nth < values.length; nth += 1) most = Math.max(most, values[nth] ?? 0);
  if (most < 2 ** 8) return Uint8Array.from(values);
  if (most < 2 ** 16) return Uint16Array.from(values);
  return most < 2 ** 32 ? Uint32Array.from(values) : Float64Array.from(values);
}

const columnNames = ['series', 'cellEnds', 'minute', 'count', 'wt', 'pmu', 'stdout', 'bucketEnds', 'bucket', 'bucketCount'] as const;
type ColumnName = (typeof columnNames)[number];

interface Header {
  version: 1;
  records: number;
  columns: Record<ColumnName, { array: ArrayName; from: number; length: number }>;
}

const version = 1;
const aligned = (bytes: number) => Math.ceil(bytes / 8) * 8;
/** The header comes first, so that it can be read alone. */
export const headerBytes = 1024;

export function packBlock(block: Block): Buffer {
  let from = headerBytes;
  const columns = Object.fromEntries(
    columnNames.map((name) => {
      const column = block[name];
      const at = { array: column.constructor.name, from, length: column.length };
      from = aligned(from + column.byteLength);
      return [name, at];
    }),
  );
  const packed = Buffer.alloc(from);
  packed.write(JSON.stringify({ version, records: block.records, columns }).padEnd(headerBytes));
  for (const name of columnNames) {
    const column = block[name];
    packed.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), columns[name]?.from);
  }
  return packed;
}

/** Undefined for what no block of this version begins with. */
export function readHeader(packed: Buffer): Header | undefined {
  try {
    const header: Header = JSON.parse(packed.toString('utf8', 0, headerBytes));
    return header.version === version ? header : undefined;
  } catch {
    return undefined;
  }
}

export function unpackBlock(packed: Buffer): Block | undefined {
  const header = readHeader(packed);
  if (!header) return undefined;
  // A buffer from the pool may begin anywhere; columns have to lie at multiples of eight.
  const bytes = packed.byteOffset % 8 === 0 ? packed : new Uint8Array(packed);
  const column = (name: ColumnName) => {
    const { array, from, length } = header.columns[name];
    return new arrays[array](bytes.buffer as ArrayBuffer, bytes.byteOffset + from, length);
  };
  return {
    records: header.records,
    series: column('series') as Uint32Array,
    cellEnds: column('cellEnds') as Uint32Array,
    minute: column('minute'),
    count: column('count'),
    wt: column('wt'),
    pmu: column('pmu'),
    stdout: column('stdout'),
    bucketEnds: column('bucketEnds') as Uint32Array,
    bucket: column('bucket'),
    bucketCount: column('bucketCount'),
  };
}
