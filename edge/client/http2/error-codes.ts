/** Why a stream or a connection is ended (RFC 9113, section 7). */
export const errorCodes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  tooMuch: 11,
} as const;

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes];
