/** How a name is proven to an authority: for each kind of challenge, what has to be seen where. */
import { createHash, createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { KeyedCertificate } from '../certificates.ts';
import { reverseName } from '../x509/addresses.ts';
import { acmeIdentifier, alternativeNames } from '../x509/extensions.ts';
import { keyPem, newKey, writeCertificate } from '../x509/write-certificate.ts';
import type { Authorization, Challenge } from './messages.ts';

/** Plain data, which can be stored. */
export type Proof = HttpProof | TlsProof | DnsProof;

interface ProofOfName {
  /** The name as it was asked for, with `*.` where it is a wildcard. */
  name: string;
}

/** Seen at `http://<host><path>`, port 80. */
export interface HttpProof extends ProofOfName {
  kind: 'http-01';
  host: string;
  path: string;
  body: string;
}

/** Seen by whoever asks port 443 for `serverName` with the protocol `acme-tls/1` (ALPN). */
export interface TlsProof extends ProofOfName {
  kind: 'tls-alpn-01';
  serverName: string;
  keyed: KeyedCertificate;
}

/** Seen as a TXT record. */
export interface DnsProof extends ProofOfName {
  kind: 'dns-01' | 'dns-persist-01';
  record: string;
  value: string;
}

export type ProofKind = Proof['kind'];

/** Puts proofs where the authority sees them. Each may be called again with the same, in the order serve, withdraw. */
export interface Solver {
  kind: ProofKind;
  /** Whether this solver can put up proofs for the name. */
  canServe(proof: Proof): boolean | Promise<boolean>;
  /** Returns once the proof is there. Throws a Problem. */
  serve(proof: Proof, signal?: AbortSignal): Promise<void>;
  /** Whether the authority will see the proof. A solver without this function has its proofs seen as soon as they are there. */
  isSeen?(proof: Proof, signal?: AbortSignal): Promise<boolean>;
  withdraw(proof: Proof, signal?: AbortSignal): Promise<void>;
}

interface Proving {
  authorization: Authorization;
  challenge: Challenge;
  key: JWK;
  accountUrl: string;
}

/** `text` is the key authorization: the token of the challenge, and the thumbprint of the account's key. */
const makers: Record<ProofKind, (proving: Proving, text: string) => Proof | undefined | Promise<Proof>> = {
  'http-01': ({ authorization, challenge }, body) => {
    const host = authorization.identifier.value;
    return { kind: 'http-01', name: host, host, path: `/.well-known/acme-challenge/${challenge.token}`, body };
  },
  'tls-alpn-01': async ({ authorization }, text) => {
    const name = authorization.identifier.value;
    return { kind: 'tls-alpn-01', name, serverName: isIP(name) ? reverseName(name) : name, keyed: await shown(name, text) };
  },
  'dns-01': ({ authorization }, text) => {
    const record = `_acme-challenge.${authorization.identifier.value}`;
    return { kind: 'dns-01', name: nameOf(authorization), record, value: digest(text).toString('base64url') };
  },
  'dns-persist-01': ({ authorization, challenge, accountUrl }) => {
    const [authority] = challenge['issuer-domain-names'] ?? [];
    const record = `_validation-persist.${authorization.identifier.value}`;
    const account = `accounturi=${challenge.accounturi ?? accountUrl}`;
    const value = [authority, account, ...(authorization.wildcard ? ['policy=wildcard'] : [])].join('; ');
    return authority === undefined ? undefined : { kind: 'dns-persist-01', name: nameOf(authorization), record, value };
  },
};

const isKnown = (type: string): type is ProofKind => Object.hasOwn(makers, type);

/** The pattern is strict, because a token becomes part of a path. */
const token = /^[A-Za-z0-9_-]{8,256}$/;

/** Undefined where this kind of challenge cannot be used for the name. */
async function proofFor(proving: Proving): Promise<Proof | undefined> {
  const { type, token: given = '' } = proving.challenge;
  if (!isKnown(type) || (type !== 'dns-persist-01' && !token.test(given))) return undefined;
  return makers[type](proving, `${given}.${await calculateJwkThumbprint(proving.key)}`);
}

export const nameOf = ({ identifier, wildcard }: Authorization) => (wildcard ? `*.${identifier.value}` : identifier.value);

const digest = (text: string) => createHash('sha256').update(text).digest();

const daySeconds = 86_400;

/** The certificate is self-signed, because the authority looks at its extension only. */
async function shown(name: string, text: string): Promise<KeyedCertificate> {
  const key = await newKey();
  const now = Date.now();
  const certificate = writeCertificate({
    subject: undefined,
    publicKey: createPublicKey(key),
    issuer: 'Offshoot',
    signingKey: key,
    validFrom: new Date(now - daySeconds * 1000),
    expiresAt: new Date(now + 7 * daySeconds * 1000),
    extensions: [alternativeNames([name], true), acmeIdentifier(digest(text))],
  });
  return { certificate, key: keyPem(key), chain: [] };
}

/** The first solver, in the order of preference, that has a way the authority offers for the name. */
export async function chooseProof(
  authorization: Authorization,
  signer: { key: JWK; account: string },
  solvers: readonly Solver[],
): Promise<{ challenge: Challenge; proof: Proof } | undefined> {
  for (const solver of solvers) {
    const challenge = authorization.challenges.find(({ type }) => type === solver.kind);
    const proof = challenge && (await proofFor({ authorization, challenge, key: signer.key, accountUrl: signer.account }));
    if (challenge && proof && (await solver.canServe(proof))) return { challenge, proof };
  }
  return undefined;
}
