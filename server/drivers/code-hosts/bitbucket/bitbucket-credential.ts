/**
 * How Bitbucket Cloud is shown who asks: by access tokens that are good for two hours, which an OAuth consumer gets for its key and secret, and an add-on for
 * a statement that it signs.
 */
import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Send } from '../code-host.ts';
import { CodeHostFailure } from '../code-host-failure.ts';
import { systemClock, type Clock, type Credential } from '../host-connection.ts';
import { openHostTokens, type HostTokens } from '../host-tokens.ts';
import { failureOf, jsonIn, unreachable } from '../reply-failures.ts';

export type BitbucketCredential =
  | { kind: 'consumer'; key: string; secret: string }
  | { kind: 'addon'; addonKey: string; clientKey: string; sharedSecret: string };

export interface BitbucketAccess extends Credential {
  /** That Git uses as a password. */
  token(): Promise<string>;
}

const tokenUrl = 'https://bitbucket.org/site/oauth2/access_token';
const bounds = { secondsMax: 30, replyBytesMax: 65_536 };
const AccessToken = Type.Object({ access_token: Type.String(), expires_in: Type.Integer() });

export function openBitbucketCredential(
  given: BitbucketCredential,
  repository: string,
  send: Send,
  clock: Clock = systemClock,
  tokens: HostTokens = openHostTokens(),
): BitbucketAccess {
  const secret = given.kind === 'consumer' ? given.secret : given.sharedSecret;
  const passing = tokens.of(['Bitbucket', JSON.stringify(given)], clock, async () => {
    const { grant, authorization } = await proofOf(given, clock.now());
    const about = { host: 'Bitbucket', repository, credential: { secrets: () => [secret, authorization.split(' ')[1] ?? ''] } };
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', authorization };
    const body = new URLSearchParams({ grant_type: grant }).toString();
    const answer = await send({ url: tokenUrl, method: 'POST', headers, body, ...bounds }).catch((cause: unknown) => {
      throw unreachable(cause, about);
    });
    // The server of tokens answers 400 to a consumer that it does not know.
    if (answer.status >= 300) throw failureOf(answer.status === 400 ? { ...answer, status: 401 } : answer, about);
    return accessTokenIn(answer.body, clock.now());
  });
  return {
    token: passing.token,
    headers: async () => ({ authorization: `Bearer ${await passing.token()}` }),
    renew: passing.renew,
    secrets: () => [secret, ...passing.secrets()],
  };
}

function accessTokenIn(body: Buffer, now: number) {
  const value = jsonIn(body);
  if (!Value.Check(AccessToken, value)) throw new CodeHostFailure('unavailable', 'Bitbucket gave no access token.');
  return { token: value.access_token, expiresAt: now + value.expires_in * 1000 };
}

const signedSeconds = 180;

async function proofOf(given: BitbucketCredential, now: number): Promise<{ grant: string; authorization: string }> {
  if (given.kind === 'consumer') {
    const basic = Buffer.from(`${given.key}:${given.secret}`).toString('base64');
    return { grant: 'client_credentials', authorization: `Basic ${basic}` };
  }
  const seconds = Math.floor(now / 1000);
  const statement = await new SignJWT({ sub: given.clientKey })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(given.addonKey)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + signedSeconds)
    .sign(createSecretKey(Buffer.from(given.sharedSecret)));
  return { grant: 'urn:bitbucket:oauth2:jwt', authorization: `JWT ${statement}` };
}
