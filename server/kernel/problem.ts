/** Every way a request can fail, and the status it is answered with. */
export const statusOfProblem = {
  'invalid-request': 400,
  unauthenticated: 401,
  'payment-required': 402,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  conflict: 409,
  'too-large': 413,
  'unsupported-media-type': 415,
  'too-many-requests': 429,
  'too-much-data': 499,
  unavailable: 503,
} as const;

export type ProblemKind = keyof typeof statusOfProblem;

interface Details {
  cause?: unknown;
  /** For the log only. */
  internal?: string;
  /** What is wrong, by field. */
  fields?: Record<string, string>;
  headers?: Record<string, string>;
  /** More for programs to read, beside the sentence. */
  body?: Record<string, unknown>;
}

/**
 * An expected failure. `message` is shown to the caller and says what to do; `internal` and `cause` reach only the log.
 * Anything thrown that is not a Problem is a bug and is answered with an opaque 500.
 */
export class Problem extends Error {
  readonly kind: ProblemKind;
  readonly internal: string | undefined;
  readonly fields: Record<string, string> | undefined;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;

  constructor(kind: ProblemKind, message: string, { cause, internal, fields, headers = {}, body = {} }: Details = {}) {
    super(message, { cause });
    this.kind = kind;
    this.internal = internal;
    this.fields = fields;
    this.headers = headers;
    this.body = body;
  }

  get status() {
    return statusOfProblem[this.kind];
  }
}

/** One bad field, in the words of the field. */
export const invalidField = (field: string, message: string) =>
  new Problem('invalid-request', `${field} ${message}.`, { fields: { [field]: message } });
