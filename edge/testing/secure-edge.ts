/** An edge to test that also listens for TLS. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { EdgeLimits } from '../limits.ts';
import type { EdgeEnvironment } from '../routing/table.ts';
import { openCertificates, type Certificates } from '../tls/certificates.ts';
import { ChallengeAnswers } from '../tls/challenges.ts';
import type { TestCertificate } from './certificates.ts';
import { openTestEdge, type TestEdge } from './edge.ts';

export interface SecureTestEdge extends TestEdge {
  securePort: number;
  certificates: Certificates;
  challenges: ChallengeAnswers;
  /** Presents the certificate for these names from now on. */
  present(id: string, names: string[], certificate: TestCertificate, isDefault?: boolean): void;
}

let version = 0;

export async function openSecureTestEdge(
  environments: EdgeEnvironment[],
  limits: Partial<EdgeLimits> = {},
  ticketSecret = randomBytes(32),
): Promise<SecureTestEdge> {
  const certificates = openCertificates();
  const challenges = new ChallengeAnswers();
  const plain = await openTestEdge(environments, limits, { tls: { certificates, challenges, ticketSecret } });
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => plain.edge.acceptSecure(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    ...plain,
    securePort: typeof address === 'object' && address ? address.port : 0,
    certificates,
    challenges,
    present: (id, names, { certificate, key }, isDefault = false) =>
      void certificates.put({ id, version: ++version, names, certificate, chain: [], key, is_default: isDefault }),
    async [Symbol.asyncDispose]() {
      server.close();
      await plain[Symbol.asyncDispose]();
    },
  };
}
