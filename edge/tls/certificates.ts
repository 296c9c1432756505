/**
 * All certificates, found by the name that a client asks for: in two lookups, whatever their number. What OpenSSL makes of one is made with its first
 * visitor and kept while it is used; of ten thousand domains few are visited at a time.
 */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { recentlyUsed } from '../cache/recently-used.ts';
import type { EdgeCertificate } from './certificate.ts';

export interface Certificates {
  /** False where a version at least as high is there already. */
  put(certificate: EdgeCertificate): boolean;
  remove(id: string): boolean;
  get(id: string): EdgeCertificate | undefined;
  all(): Iterable<EdgeCertificate>;
  /** The version of each certificate, by id. */
  versions(): Record<string, number>;
  /** The certificate for the name; the default one where there is no name, or no certificate for it. */
  find(name: string | undefined): EdgeCertificate | undefined;
  /** `authorities` are those whose certificates clients may show. */
  contextOf(certificate: EdgeCertificate, authorities: readonly string[]): SecureContext;
}

/** Each context takes some 50 KiB outside of the memory that Node counts. */
const contextsMax = 2000;
const sharedChainsMax = 1000;

/** The suites of TLS 1.3 are all good; of TLS 1.2, those with forward secrecy and authenticated encryption. */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/**
 * Keys are exchanged on curves alone, the first one together with a method that no quantum computer is known to break. OpenSSL would also offer finite fields: there a
 * handshake costs this side many times as much, and the smallest of them is weaker than everything else here.
 */
const groups = ['X25519MLKEM768', 'X25519', 'P-256', 'P-384'].join(':');

/** Options of every context: contexts that are swapped during a handshake must agree in them. */
export const contextOptions: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  ciphers,
  ecdhCurve: groups,
  sessionIdContext: 'offshoot',
  sessionTimeout: 24 * 60 * 60,
};

export function openCertificates(): Certificates {
  const byId = new Map<string, EdgeCertificate>();
  /** The certificates for each name, newest first. */
  const byName = new Map<string, EdgeCertificate[]>();
  const chains = new Map<string, string>();
  const contexts = recentlyUsed<SecureContext>(contextsMax);
  let byDefault: EdgeCertificate | undefined;

  /** Keeps equal texts in memory once: thousands of certificates have the same few issuers. */
  const shared = (pem: string) => {
    const known = chains.get(pem);
    if (known === undefined && chains.size < sharedChainsMax) chains.set(pem, pem);
    return known ?? pem;
  };
  const forget = ({ id, names }: EdgeCertificate) => {
    for (const name of names) {
      const others = (byName.get(name) ?? []).filter((other) => other.id !== id);
      if (others.length > 0) byName.set(name, others);
      else byName.delete(name);
    }
  };
  const newestFirst = (a: EdgeCertificate, b: EdgeCertificate) => b.version - a.version;
  const chooseDefault = () => {
    [byDefault] = [...byId.values()].filter((it) => it.is_default).toSorted(newestFirst);
  };

  return {
    put(told) {
      const former = byId.get(told.id);
      if (former && former.version >= told.version) return false;
      const certificate = { ...told, chain: told.chain.map(shared) };
      if (former) forget(former);
      byId.set(told.id, certificate);
      for (const name of certificate.names) byName.set(name, [...(byName.get(name) ?? []), certificate].toSorted(newestFirst));
      if (former?.is_default || told.is_default) chooseDefault();
      return true;
    },
    remove(id) {
      const former = byId.get(id);
      if (!former) return false;
      byId.delete(id);
      forget(former);
      if (former.is_default) chooseDefault();
      return true;
    },
    get: (id) => byId.get(id),
    all: () => byId.values(),
    versions: () => Object.fromEntries([...byId].map(([id, { version }]) => [id, version])),
    find: (name) => (name === undefined ? undefined : (byName.get(name) ?? byName.get(wildcardOf(name)))?.[0]) ?? byDefault,
    contextOf(certificate, authorities) {
      const key = JSON.stringify([certificate.id, certificate.version, authorities]);
      const known = contexts.get(key);
      if (known) return known;
      const context = secureContextOf(certificate, authorities);
      contexts.set(key, context, 1);
      return context;
    },
  };
}

/** A wildcard of a certificate stands for one label, and never for its own domain. */
const wildcardOf = (name: string) => `*${name.slice(name.indexOf('.'))}`;

export const isFor = ({ names }: EdgeCertificate, name: string) => names.includes(name) || names.includes(wildcardOf(name));

/** What OpenSSL says of a certificate that cannot be used, such as one with the key of another. */
export function flawOf(certificate: EdgeCertificate): string | undefined {
  try {
    secureContextOf(certificate, []);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const secureContextOf = ({ certificate, chain, key }: EdgeCertificate, authorities: readonly string[]) =>
  createSecureContext({
    ...contextOptions,
    cert: [certificate, ...chain].map((pem) => pem.trim()).join('\n'),
    key,
    // Without a list, OpenSSL would take the authorities that the machine trusts.
    ca: [...authorities],
  });
