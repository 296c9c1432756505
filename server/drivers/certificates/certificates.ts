/**
 * Certificates: where they come from, and what is known of one.
 *
 * An issuer makes certificates for names. Having one takes minutes, in which the platform may be killed, so what is under way is a value: whoever asked
 * keeps it, sealed, after each `advance`, and goes on from it. Two issuers exist: an authority that speaks ACME (acme/), and one of our own (authority/).
 */

/** A certificate with its key, as it is kept and served; all of it is PEM. */
export interface KeyedCertificate {
  certificate: string;
  /** In the form of PKCS #8. */
  key: string;
  /** From the certificate of the signer upwards; the root may be absent. */
  chain: readonly string[];
}

export interface CertificateRequest {
  /** In ASCII and lower case: host names, also `*.example.org`, and IP addresses in their shortest form. */
  names: readonly [string, ...string[]];
  /** ECDSA on P-256 unless said otherwise; RSA of 2048 bits is for very old clients. */
  keyType?: KeyType;
  /** One of the issuer's `profiles`. */
  profile?: string;
  /** The certificate, as PEM, that this one will replace; issuers let renewals pass where new certificates are rationed. */
  replaces?: string;
}

export type KeyType = 'ecdsa' | 'rsa';

/** Plain data, to be stored and read again as JSON. It has to be sealed, because it holds the private key. */
export type Issuance = OngoingIssuance | { status: 'issued'; issued: KeyedCertificate } | RefusedIssuance;

export interface OngoingIssuance {
  status: 'ongoing';
  request: CertificateRequest;
  /** The name of the next step, for logs. */
  next: string;
  /** `advance` is not to be called before this time. */
  notBefore?: string;
  /** What failed the last time and is tried again; absent once it has worked. */
  trouble?: { times: number; sentence: string };
  /** Data that only the issuer reads. */
  data: unknown;
}

export interface RefusedIssuance {
  status: 'refused';
  faults: readonly [IssuanceFault, ...IssuanceFault[]];
}

/** Why there is no certificate. */
export interface IssuanceFault {
  /** The name that the fault is about; undefined where it is not about one of the names. */
  name?: string;
  cause: IssuanceCause;
  /** For the owner of the name: what happened, and what to change. */
  sentence: string;
}

export type IssuanceCause =
  /** The name has no address, or its name servers do not answer. */
  | 'dns'
  /** Nobody could be reached at the name's address. */
  | 'connection'
  /** Somebody else answered there. */
  | 'wrong-answer'
  /** A CAA record allows other authorities only. */
  | 'caa'
  /** The issuer does not make certificates for this name. */
  | 'name'
  /** No way that the issuer offers to prove the name is open to this platform. */
  | 'no-way-to-prove'
  /** Too many certificates were asked for. */
  | 'rate'
  /** The issuer does not want this account. */
  | 'account'
  | 'other';

export interface Issuer {
  /** Makes the key; nothing is sent to the issuer yet. */
  begin(request: CertificateRequest): Promise<OngoingIssuance>;
  /**
   * Takes one step further, or answers the same with a later `notBefore`. After a kill before the result was stored, it is called again with what is stored.
   * What goes wrong is told in the result; it throws only what `signal` was aborted with.
   */
  advance(issuance: OngoingIssuance, signal?: AbortSignal): Promise<Issuance>;
  /** Takes down what was put up for the issuer to see, when nobody will go on with the issuance. */
  abandon(issuance: OngoingIssuance, signal?: AbortSignal): Promise<void>;
  /** When a certificate of this issuer, as PEM, is to be replaced. Throws nothing but what `signal` was aborted with. */
  renewal(certificate: string, signal?: AbortSignal): Promise<Renewal>;
  /** Throws a Problem where the issuer cannot revoke. */
  revoke(certificate: string, reason?: RevocationReason, signal?: AbortSignal): Promise<void>;
}

/** The reasons of RFC 5280 that a subscriber may give. */
export type RevocationReason = 'unspecified' | 'key-compromise' | 'affiliation-changed' | 'superseded' | 'cessation-of-operation';

export interface Renewal {
  /** A time in the past means now. It is always the same for one certificate, unless the issuer changes its mind. */
  renewAt: string;
  /** When `renewal` is to be asked again. */
  askAgainAt: string;
  /** Who decided: the issuer, or the rule that a third of the lifetime has to be left. */
  by: 'issuer' | 'lifetime';
  /** A URL at which the issuer explains why, for people. */
  explanation?: string;
}

/** What can be read of a certificate. */
export interface CertificateFacts {
  /** Host names in lower case and IP addresses. */
  names: readonly string[];
  keyType: KeyFacts;
  issuer: readonly NamePart[];
  subject: readonly NamePart[];
  /** In lower-case hexadecimal. */
  serial: string;
  /** The SHA-256 of the whole certificate, in lower-case hexadecimal. */
  fingerprint: string;
  validFrom: string;
  expiresAt: string;
  /** What the key may be used for, such as `serverAuth`; an OID where the use has no name here. Empty where it may be used for anything. */
  uses: readonly string[];
  isSelfSigned: boolean;
  isAuthority: boolean;
  /** Where the issuer tells whether the certificate is revoked; undefined where it does not. */
  ocspUrl: string | undefined;
  /** Whether clients are to refuse it without such an answer of the issuer (“must staple”, RFC 7633). */
  mustStaple: boolean;
}

export type KeyFacts = { algorithm: 'rsa'; bits: number } | { algorithm: 'ecdsa'; curve: string } | { algorithm: 'other'; name: string };

export interface NamePart {
  oid: string;
  /** `commonName` and the like. */
  alias: string | null;
  value: string;
}

/** What is wrong with a certificate that somebody uploaded. */
export interface CertificateFault {
  /** `certificate`, `key`, `chain` or `chain[2]`. */
  field: string;
  /** Says what is wrong, and what to do. */
  sentence: string;
}

export type ReadCertificate =
  | { isGood: true; keyed: KeyedCertificate; facts: CertificateFacts }
  | { isGood: false; faults: readonly [CertificateFault, ...CertificateFault[]] };
