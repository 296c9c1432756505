/**
 * Certificates: where they come from, and what is known of one.
 *
 * An issuer makes certificates for names. Having one takes minutes, in which the platform may be killed, so what is under way is a value: whoever asked
 * keeps it, sealed, after each `advance`, and goes on from it. Two issuers exist: an authority that speaks ACME (acme/), and one of our own (authority/).
 */

/** As it is kept and served; all of it PEM. */
export interface KeyedCertificate {
  certificate: string;
  /** PKCS #8. */
  key: string;
  /** From the one that signed the certificate upwards; the root may be absent. */
  chain: readonly string[];
}

export interface CertificateRequest {
  /** In ASCII and lower case: host names, also `*.example.org`, and IP addresses in their shortest form. */
  names: readonly [string, ...string[]];
  /** ECDSA on P-256 unless said otherwise; RSA of 2048 bits is for clients of the last century. */
  keyType?: KeyType;
  /** One of the issuer's `profiles`. */
  profile?: string;
  /** The certificate, as PEM, in whose place this one will be; issuers let renewals pass where new certificates are rationed. */
  replaces?: string;
}

export type KeyType = 'ecdsa' | 'rsa';

/** Plain data, to be stored and read again as JSON. It holds the private key: it is to be sealed. */
export type Issuance = OngoingIssuance | { status: 'issued'; issued: KeyedCertificate } | RefusedIssuance;

export interface OngoingIssuance {
  status: 'ongoing';
  request: CertificateRequest;
  /** What comes next, for logs. */
  next: string;
  /** Before this time `advance` is not to be called. */
  notBefore?: string;
  /** What did not work the last time and is tried again; gone once it worked. */
  trouble?: { times: number; sentence: string };
  /** The issuer's own. */
  data: unknown;
}

export interface RefusedIssuance {
  status: 'refused';
  faults: readonly [IssuanceFault, ...IssuanceFault[]];
}

/** Why there is no certificate. */
export interface IssuanceFault {
  /** Undefined: it is not about one of the names. */
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
  /** Too many were asked for. */
  | 'rate'
  /** The issuer does not want this account. */
  | 'account'
  | 'other';

export interface Issuer {
  /** Makes the key, and asks nobody yet. */
  begin(request: CertificateRequest): Promise<OngoingIssuance>;
  /**
   * One step further, or the same with a later `notBefore`. Whoever was killed before the result was stored calls it again with what is stored.
   * What goes wrong is told in the result; thrown is only what `signal` was aborted with.
   */
  advance(issuance: OngoingIssuance, signal?: AbortSignal): Promise<Issuance>;
  /** Takes back what was put up for the issuer to see, for somebody who will not go on. */
  abandon(issuance: OngoingIssuance, signal?: AbortSignal): Promise<void>;
  /** When a certificate of this issuer, as PEM, is to be replaced. Throws nothing but what `signal` was aborted with. */
  renewal(certificate: string, signal?: AbortSignal): Promise<Renewal>;
  /** Throws a Problem where the issuer does not do it. */
  revoke(certificate: string, reason?: RevocationReason, signal?: AbortSignal): Promise<void>;
}

/** Those of RFC 5280 that a subscriber may give. */
export type RevocationReason = 'unspecified' | 'key-compromise' | 'affiliation-changed' | 'superseded' | 'cessation-of-operation';

export interface Renewal {
  /** Past: now. For one certificate it is always the same, unless the issuer changes its mind. */
  renewAt: string;
  /** When to ask again. */
  askAgainAt: string;
  /** Who decided: the issuer, or a third of the lifetime. */
  by: 'issuer' | 'lifetime';
  /** Where the issuer explains why, for people. */
  explanation?: string;
}

/** What can be read of a certificate. */
export interface CertificateFacts {
  /** Host names in lower case and IP addresses. */
  names: readonly string[];
  keyType: KeyFacts;
  issuer: readonly NamePart[];
  subject: readonly NamePart[];
  /** Lower-case hexadecimal. */
  serial: string;
  /** Of all of it, SHA-256, lower-case hexadecimal. */
  fingerprint: string;
  validFrom: string;
  expiresAt: string;
  /** What its key may be used for, such as `serverAuth`; an OID where it has no name here. Empty: anything. */
  uses: readonly string[];
  isSelfSigned: boolean;
  isAuthority: boolean;
  /** Where its issuer tells whether it is revoked; undefined: nowhere. */
  ocspUrl: string | undefined;
}

export type KeyFacts = { algorithm: 'rsa'; bits: number } | { algorithm: 'ecdsa'; curve: string } | { algorithm: 'other'; name: string };

export interface NamePart {
  oid: string;
  /** `commonName` and the like. */
  alias: string | null;
  value: string;
}

/** What is wrong with one that somebody gave us. */
export interface CertificateFault {
  /** `certificate`, `key`, `chain` or `chain[2]`. */
  field: string;
  /** Says what to do. */
  sentence: string;
}

export type ReadCertificate =
  | { isGood: true; keyed: KeyedCertificate; facts: CertificateFacts }
  | { isGood: false; faults: readonly [CertificateFault, ...CertificateFault[]] };
