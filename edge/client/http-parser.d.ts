/** The parser that node:http itself stands on. Node keeps this module out of its documentation; request-parser.ts alone makes one. */
declare module 'node:_http_common' {
  export class HTTPParser {
    static readonly REQUEST: number;
    static readonly kOnHeaders: number;
    static readonly kOnHeadersComplete: number;
    static readonly kOnBody: number;
    static readonly kOnMessageComplete: number;
    /** Called after each read of the socket that the parser consumes. */
    static readonly kOnExecute: number;
    [callback: number]: unknown;
    initialize(type: number, resource: object, headerBytesMax: number, lenient: number): void;
    /** Answers how many bytes were taken: fewer than all only where the connection is handed over. */
    execute(chunk: Uint8Array): number | (Error & { code: string });
    close(): void;
    /** From now on the parser reads the socket's handle by itself. */
    consume(handle: object): void;
    unconsume(): void;
    /** To be called during `kOnExecute`: a copy of all that was read. */
    getCurrentBuffer(): Buffer;
  }
  /** The methods by the number that the parser gives them. */
  export const methods: readonly string[];
}
