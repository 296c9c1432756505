/** Why the relay does not take something, as an answer of SMTP: a code, and a sentence that whoever wrote the app can read. */
export class Refusal extends Error {
  /** By which `smtp-server` answers. */
  readonly responseCode: number;
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, sentence: string) {
    super(sentence);
    this.kind = kind;
    this.responseCode = codes[kind];
  }
}

/** 4xx: the same may be taken later; 5xx: it will not. */
const codes = {
  /** The container belongs to no environment. */
  stranger: 554,
  /** The environment sends no mail. */
  off: 550,
  /** More than the environment may send. */
  limit: 451,
  /** More than there is room for, in memory or waiting to be sent. */
  room: 452,
  recipients: 452,
  size: 552,
  loop: 554,
  /** Nobody is there to hear it. */
  brokenOff: 451,
  connections: 421,
  failed: 451,
} as const;

export type RefusalKind = keyof typeof codes;
export const refusalKinds = Object.keys(codes) as RefusalKind[];
