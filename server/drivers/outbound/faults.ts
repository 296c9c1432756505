/** Why something that went out brought nothing back, in a word for programs and a sentence for people. */
import { Problem, type ProblemKind } from '../../kernel/problem.ts';

/** Each reason, and how a request that failed for it is answered. */
const kindOfReason = {
  /** The text is no address. */
  malformed: 'invalid-request',
  /** The address must not be visited. */
  forbidden: 'invalid-request',
  /** The name leads nowhere. */
  unresolved: 'invalid-request',
  /** Nobody listens, or the connection broke. */
  unreachable: 'unavailable',
  /** What answers cannot show that it is whom it claims to be. */
  untrusted: 'unavailable',
  late: 'unavailable',
  'too-large': 'unavailable',
  /** A redirect that is not followed. */
  misled: 'unavailable',
} as const satisfies Record<string, ProblemKind>;

export type FaultReason = keyof typeof kindOfReason;

interface Details {
  cause?: unknown;
  internal?: string;
  /** The reason in a few words, for a sentence of the caller's own. */
  detail?: string;
  /** What had come, where more came than may. */
  reply?: OutboundFault['reply'];
}

export class OutboundFault extends Problem {
  readonly reason: FaultReason;
  readonly detail: string;
  readonly reply: { status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer } | undefined;

  constructor(reason: FaultReason, sentence: string, { detail = sentence.replace(/\.$/, ''), reply, ...details }: Details = {}) {
    super(kindOfReason[reason], sentence, details);
    this.reason = reason;
    this.detail = detail;
    this.reply = reply;
  }
}

/** Codes of OpenSSL for what is wrong with a certificate, and of Node for one of another host. */
const tellsOfCertificate = /CERT|SIGNATURE|ERR_TLS|ERR_SSL/;

/** A fault of whatever connecting to a host failed with. */
export function faultOf(cause: unknown, host: string): OutboundFault {
  if (cause instanceof OutboundFault) return cause;
  const code = codeOf(cause);
  return tellsOfCertificate.test(code)
    ? new OutboundFault('untrusted', `${host} has no certificate that this installation trusts (${code}).`, { cause, detail: code })
    : new OutboundFault('unreachable', `${host} cannot be reached (${code}).`, { cause, detail: code });
}

/** Where several addresses were tried, the error has one for each. */
function codeOf(cause: unknown): string {
  const { code, message, errors } = cause as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] };
  return code ?? errors?.[0]?.code ?? message;
}

export const late = (host: string, seconds: number) =>
  new OutboundFault('late', `${host} did not answer within ${seconds} seconds.`, { detail: `no answer within ${seconds} seconds` });
