/** Why a code host did not do what it was asked for: a word for programs, and a sentence for people. */

export type FailureKind =
  /** The credential is wrong, revoked or expired. Nothing works until somebody gives another. */
  | 'credential'
  /** The credential is good, but not for this. */
  | 'permission'
  /** The repository, or what was asked for in it, is not there, or the credential must not know that it is. */
  | 'missing'
  /** Under the name of the repository there is another one by now. Nothing works until somebody says which one is meant. */
  | 'replaced'
  /** The address of the host is none that may be visited. Nothing works until somebody gives another. */
  | 'address'
  /** The host takes no more requests until `retryAt`. */
  | 'rate-limited'
  /** The host does not answer, or not sensibly. Later it may. */
  | 'unavailable'
  /** The host understood the request and does not accept it. */
  | 'refused'
  /** A delivery that the host did not send, or that was changed on its way. */
  | 'unauthenticated';

interface Details {
  cause?: unknown;
  status?: number;
  retryAt?: Date;
}

export class CodeHostFailure extends Error {
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly retryAt: Date | undefined;

  constructor(kind: FailureKind, sentence: string, { cause, status, retryAt }: Details = {}) {
    super(sentence, { cause });
    this.kind = kind;
    this.status = status;
    this.retryAt = retryAt;
  }
}

export const isFailure = (thrown: unknown, ...kinds: readonly FailureKind[]): thrown is CodeHostFailure =>
  thrown instanceof CodeHostFailure && kinds.includes(thrown.kind);

/** What is not there is undefined. */
export async function unlessMissing<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (thrown) {
    if (isFailure(thrown, 'missing')) return undefined;
    throw thrown;
  }
}
