/** Why a request with traces is refused as a whole. */

/** What is answered when nothing is taken. `code` is the one of gRPC, as senders expect it in the body. */
export const refusals = {
  malformed: { status: 400, code: 3 },
  unauthenticated: { status: 401, code: 16 },
  unknown: { status: 404, code: 5 },
  method: { status: 405, code: 12 },
  tooLarge: { status: 413, code: 8 },
  mediaType: { status: 415, code: 3 },
  tooMany: { status: 429, code: 8 },
  failed: { status: 503, code: 14 },
} as const;

export class Refused extends Error {
  readonly kind: keyof typeof refusals;
  constructor(kind: keyof typeof refusals, message: string) {
    super(message);
    this.kind = kind;
  }
}
