/** A visitor that looks at the certificate of a host, and goes away. */
import { once } from 'node:events';
import type { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';

export interface Shown {
  certificate: X509Certificate;
  /** Whether a client that trusts these authorities, and no others, would go on. */
  isTrusted: boolean;
  reason: string;
  /** The issuer's answer about the certificate, which was sent along. */
  stapled: Buffer | null;
}

export async function shownFor(port: number, servername: string | undefined, ca: string[]): Promise<Shown> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ca,
    rejectUnauthorized: false,
    requestOCSP: true,
    ...(servername === undefined ? {} : { servername }),
  });
  let stapled: Buffer | null = null;
  socket.on('OCSPResponse', (response: Buffer | null) => (stapled = response));
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (!certificate) throw new Error('No certificate was shown');
    return { certificate, isTrusted: socket.authorized, reason: String(socket.authorizationError ?? ''), stapled };
  } finally {
    socket.destroy();
  }
}
