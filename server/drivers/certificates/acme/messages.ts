/** What is said in ACME (RFC 8555, 9773 and later drafts), as far as it is used here. */

export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  revokeCert: string;
  keyChange: string;
  /** The URL of renewal information (RFC 9773). */
  renewalInfo?: string;
  meta?: {
    termsOfService?: string;
    caaIdentities?: string[];
    externalAccountRequired?: boolean;
    /** The profiles by name, each with a description. */
    profiles?: Record<string, string>;
  };
}

export interface Identifier {
  type: 'dns' | 'ip';
  value: string;
}

export interface Order {
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  authorizations: string[];
  finalize: string;
  certificate?: string;
  error?: ProblemDocument;
}

export interface Authorization {
  /** Without `*.`, which `wildcard` stands for. */
  identifier: Identifier;
  status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  wildcard?: boolean;
  challenges: Challenge[];
}

export interface Challenge {
  type: string;
  url: string;
  status: 'pending' | 'processing' | 'valid' | 'invalid';
  token?: string;
  error?: ProblemDocument;
  /** Only in DNS-PERSIST-01. */
  'issuer-domain-names'?: string[];
  accounturi?: string;
}

export interface ProblemDocument {
  type?: string;
  detail?: string;
  subproblems?: (ProblemDocument & { identifier?: Identifier })[];
}

export interface RenewalInformation {
  suggestedWindow: { start: string; end: string };
  explanationURL?: string;
}

const prefix = 'urn:ietf:params:acme:error:';

/** The type without its prefix, such as `rateLimited`; empty for a type that is not ACME's. */
export const typeOf = ({ type = '' }: ProblemDocument) => (type.startsWith(prefix) ? type.slice(prefix.length) : '');

/** The authority understood the request, and says no. */
export class AcmeRefusal extends Error {
  readonly type: string;
  readonly problem: ProblemDocument;
  readonly status: number;
  /** The request is not to be repeated before this time, if the authority named one. */
  readonly retryAt: Date | undefined;
  /** A URL at which the authority explains more, for people. */
  readonly more: string | undefined;

  constructor(status: number, problem: ProblemDocument, retryAt: Date | undefined, more?: string) {
    super(problem.detail ?? `The authority answered ${status}`);
    this.status = status;
    this.problem = problem;
    this.type = typeOf(problem);
    this.retryAt = retryAt;
    this.more = more;
  }
}

/** There was no answer, or none that makes sense: the request is worth another try. */
export class AcmeTrouble extends Error {
  readonly retryAt: Date | undefined;
  constructor(sentence: string, { retryAt, cause }: { retryAt?: Date | undefined; cause?: unknown } = {}) {
    super(sentence, { cause });
    this.retryAt = retryAt;
  }
}
