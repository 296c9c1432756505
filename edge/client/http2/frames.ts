/** The frames of HTTP/2 (RFC 9113, section 6). */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { endStream: 0x1, acknowledged: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const settings = {
  headerTableSize: 1,
  enablePush: 2,
  concurrentStreamsMax: 3,
  initialWindowSize: 4,
  frameSizeMax: 5,
  headerListSizeMax: 6,
  enableConnectProtocol: 8,
  noPriorities: 9,
} as const;

export const frameHeadBytes = 9;
/** Neither side sends larger ones here. */
export const frameBytesMax = 16 * 1024;
export const windowMax = 2 ** 31 - 1;
export const standardWindow = 65_535;

export interface Frame {
  type: number;
  flags: number;
  stream: number;
  /** Valid only during the call. */
  payload: Buffer;
}
