/**
 * How GitHub is shown who asks: by the token of a person, or by an App. An App signs with its key that it is itself, and gets tokens for the repository's
 * installation that are good for an hour.
 */
import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { Type } from 'typebox';
import { Problem } from '../../../kernel/problem.ts';
import { fixedCredential, openConnection, pathOf, systemClock, type ConnectionOptions, type Credential } from '../host-connection.ts';
import { openHostTokens, type HostTokens } from '../host-tokens.ts';

export type GithubCredential =
  | { kind: 'token'; token: string }
  /** The key as PEM; the installation is looked up where it is not known. */
  | { kind: 'app'; appId: string; privateKey: string; installationId?: string | undefined };

export interface CredentialWithToken extends Credential {
  /** That Git uses as a password. */
  token(): Promise<string>;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export function openGithubCredential(
  given: GithubCredential,
  shared: Omit<ConnectionOptions, 'credential'>,
  at: string,
  tokens: HostTokens = openHostTokens(),
): CredentialWithToken {
  if (given.kind === 'app') return openAppCredential(given, shared, at, tokens);
  const { token } = given;
  return { ...fixedCredential(bearer(token), [token]), token: async () => token };
}

const InstallationToken = Type.Object({ token: Type.String(), expires_at: Type.String() });

function openAppCredential(
  { appId, privateKey, installationId }: Extract<GithubCredential, { kind: 'app' }>,
  shared: Omit<ConnectionOptions, 'credential'>,
  at: string,
  tokens: HostTokens,
): CredentialWithToken {
  const clock = shared.clock ?? systemClock;
  const key = privateKeyOf(privateKey);
  const asApp = openConnection({
    ...shared,
    credential: {
      headers: async () => bearer(await signedBy(key, appId, clock.now())),
      renew: () => false,
      secrets: () => [privateKey],
    },
  });
  const installation = async () =>
    installationId ?? String((await asApp.ask({ path: `${at}/installation` })).read(Type.Object({ id: Type.Integer() })).id);
  // Which installation it is, the repository tells where nobody else does.
  const passing = tokens.of(['GitHub', shared.baseUrl, appId, privateKey, installationId ?? at], clock, async () => {
    const reply = await asApp.ask({ method: 'POST', path: pathOf`/app/installations/${await installation()}/access_tokens` });
    const { token, expires_at: expiresAt } = reply.read(InstallationToken);
    return { token, expiresAt: Date.parse(expiresAt) };
  });
  return {
    token: passing.token,
    headers: async () => bearer(await passing.token()),
    renew: passing.renew,
    secrets: () => [privateKey, ...passing.secrets()],
  };
}

/** The clock of GitHub may be behind ours, and it takes no more than ten minutes. */
const backdatedSeconds = 60;
const signedSeconds = 540;

function signedBy(key: ReturnType<typeof createPrivateKey>, appId: string, now: number): Promise<string> {
  const seconds = Math.floor(now / 1000);
  return new SignJWT({})
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuer(appId)
    .setIssuedAt(seconds - backdatedSeconds)
    .setExpirationTime(seconds + signedSeconds)
    .sign(key);
}

function privateKeyOf(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    // What OpenSSL says of a bad key may quote from it.
    throw new Problem('invalid-request', 'The private key of the App is not a key in PEM.', {
      fields: { private_key: 'must be a key in PEM' },
    });
  }
}
