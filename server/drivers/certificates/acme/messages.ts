/** What is said in ACME (RFC 8555, 9773 and later drafts), as far as it is used here. */

export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  revokeCert: string;
  keyChange: string;
  /** RFC 9773. */
  renewalInfo?: string;
  meta?: {
    termsOfService?: string;
    caaIdentities?: string[];
    externalAccountRequired?: boolean;
    /** By name, with a description. */
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
  /** Of DNS-PERSIST-01. */
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

/** `rateLimited` and the like; empty where there is none. */
export const typeOf = ({ type = '' }: ProblemDocument) => (type.startsWith(prefix) ? type.slice(prefix.length) : '');

/** The authority understood, and says no. */
export class AcmeRefusal extends Error {
  readonly type: string;
  readonly problem: ProblemDocument;
  readonly status: number;
  /** Not before this time, where the authority said so. */
  readonly retryAt: Date | undefined;
  /** Where the authority says more, for people. */
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

/** There was no answer, or none that counts: it is worth another try. */
export class AcmeTrouble extends Error {
  readonly retryAt: Date | undefined;
  constructor(sentence: string, { retryAt, cause }: { retryAt?: Date | undefined; cause?: unknown } = {}) {
    super(sentence, { cause });
    this.retryAt = retryAt;
  }
}
