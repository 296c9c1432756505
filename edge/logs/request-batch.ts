/**
 * Requests as they are told to the control plane, many at once: numbers in rows of one length, and all texts of all rows one after another, in Latin-1 as they came. Nothing of a request is kept
 * beside these bytes, which are there from the start: so a request costs one copy, and a process that nobody reads from stays as large as it is. Both ends are on one machine.
 */
import type { RequestRecord } from './request-record.ts';

/** What is told of a request that a route of an environment led to. */
export interface RecordedRequest {
  /** When its head had arrived, in milliseconds since 1970. */
  at: number;
  cluster: string;
  /** Empty: its route leads to no app. */
  application: string;
  /** Id of the instance that it was sent to last; empty where the edge answered by itself. */
  instance: string;
  method: string;
  host: string;
  /** Path and names of the query, without their values. */
  url: string;
  address: string;
  userAgent: string;
  status: number;
  microseconds: number;
  bytesIn: number;
  bytesOut: number;
  isFromCache: boolean;
}

const urlCharactersMax = 2048;
const userAgentCharactersMax = 512;
const rowsMax = 512;
/** Of each row: four long numbers, then short ones, which are the status, what else is to be known, and how long each text is. */
const numbers = { at: 0, microseconds: 1, bytesIn: 2, bytesOut: 3 } as const;
const rowNumbers = 7;
const rowBytes = rowNumbers * Float64Array.BYTES_PER_ELEMENT;
const rowShorts = rowBytes / Uint16Array.BYTES_PER_ELEMENT;
const firstShort = 16;
const texts = ['cluster', 'application', 'instance', 'method', 'host', 'url', 'address', 'userAgent'] as const;
const textBytesMax = 128 * 1024;
const fromCache = 1;

export class RequestBatch {
  count = 0;
  #textBytes = 0;
  readonly #rows = new ArrayBuffer(rowsMax * rowBytes);
  readonly #numbers = new Float64Array(this.#rows);
  readonly #shorts = new Uint16Array(this.#rows);
  readonly #text = Buffer.allocUnsafeSlow(textBytesMax);

  /** False: there is no room for it. */
  add(record: RequestRecord, cluster: string, application: string): boolean {
    const { method, host, address } = record;
    const instance = record.instance ?? '';
    const url = urlOf(record.path, record.query);
    const userAgent = beginningOf(record.user_agent, userAgentCharactersMax);
    const text = cluster + application + instance + method + host + url + address + userAgent;
    if (this.count === rowsMax || this.#textBytes + text.length > textBytesMax) return false;
    this.#textBytes += this.#text.write(text, this.#textBytes, 'latin1');
    const row = this.count * rowNumbers;
    this.#numbers[row + numbers.at] = record.at;
    this.#numbers[row + numbers.microseconds] = Math.round(record.total_ms * 1000);
    this.#numbers[row + numbers.bytesIn] = record.bytes_in;
    this.#numbers[row + numbers.bytesOut] = record.bytes_out;
    let short = this.count * rowShorts + firstShort;
    this.#shorts[short++] = record.status;
    this.#shorts[short++] = record.cache === 'HIT' ? fromCache : 0;
    this.#shorts[short++] = cluster.length;
    this.#shorts[short++] = application.length;
    this.#shorts[short++] = instance.length;
    this.#shorts[short++] = method.length;
    this.#shorts[short++] = host.length;
    this.#shorts[short++] = url.length;
    this.#shorts[short++] = address.length;
    this.#shorts[short] = userAgent.length;
    this.count++;
    return true;
  }

  /** Good until something is added. */
  bytes(): BatchBytes {
    return { rows: new Uint8Array(this.#rows, 0, this.count * rowBytes), text: this.#text.subarray(0, this.#textBytes) };
  }

  clear() {
    this.count = 0;
    this.#textBytes = 0;
  }
}

export interface BatchBytes {
  rows: Uint8Array;
  text: Uint8Array;
}

const beginningOf = (text: string, characters: number) => (text.length > characters ? text.slice(0, characters) : text);

function urlOf(path: string, query: string): string {
  if (query === '') return beginningOf(path, urlCharactersMax);
  const names = beginningOf(query, urlCharactersMax).replaceAll(/=[^&]*/g, '');
  return beginningOf(`${path}?${names}`, urlCharactersMax);
}

/** Throws where it is no batch. */
export function requestsIn({ rows, text }: BatchBytes): RecordedRequest[] {
  // Bytes that came over a socket may begin anywhere.
  const { buffer } = new Uint8Array(rows);
  const [values, shorts] = [new Float64Array(buffer), new Uint16Array(buffer)];
  const all = Buffer.from(text.buffer, text.byteOffset, text.length).toString('latin1');
  let position = 0;
  const requests = Array.from({ length: rows.length / rowBytes }, (_, nth): RecordedRequest => {
    const number = (name: keyof typeof numbers) => values[nth * rowNumbers + numbers[name]] ?? 0;
    const short = nth * rowShorts + firstShort;
    const next = (place: number) => {
      const begin = position;
      position += shorts[short + 2 + place] ?? 0;
      return all.slice(begin, position);
    };
    const [cluster, application, instance, method, host, url, address, userAgent] = texts.map((_name, place) => next(place)) as Texts;
    return {
      at: number('at'),
      cluster,
      application,
      instance,
      method,
      host,
      url,
      address,
      userAgent,
      status: shorts[short] ?? 0,
      microseconds: number('microseconds'),
      bytesIn: number('bytesIn'),
      bytesOut: number('bytesOut'),
      isFromCache: ((shorts[short + 1] ?? 0) & fromCache) !== 0,
    };
  });
  if (rows.length % rowBytes !== 0 || position !== text.length) throw new Error('What the edge told of requests is not whole.');
  return requests;
}

type Texts = [string, string, string, string, string, string, string, string];
