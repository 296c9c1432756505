/** The parser that node:http itself stands on. Node keeps this module out of its documentation; request-parser.ts alone makes one. */
declare module 'node:_http_common' {
  export class HTTPParser {
    static readonly REQUEST: number;
    static readonly kOnHeaders: number;
    static readonly kOnHeadersComplete: number;
    static readonly kOnBody: number;
    static readonly kOnMessageComplete: number;
    /** After each read of what it consumes. */
    static readonly kOnExecute: number;
    [callback: number]: unknown;
    initialize(type: number, resource: object, headerBytesMax: number, lenient: number): void;
    /** How many bytes were taken: fewer than all only where the connection is handed over. */
    execute(chunk: Uint8Array): number | (Error & { code: string });
    close(): void;
    /** Reads a socket's handle by itself. */
    consume(handle: object): void;
    unconsume(): void;
    /** During `kOnExecute`: a copy of all that was read. */
    getCurrentBuffer(): Buffer;
  }
  /** By the number that the parser tells. */
  export const methods: readonly string[];
}
