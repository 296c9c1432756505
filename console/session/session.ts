/**
 * Who is signed in here. The page has an access token, in its memory and nowhere else; the refresh token is in a cookie that only the platform reads. A
 * token is renewed a little before it expires, once for all requests that wait for it.
 */
import { beginSignIn, endSignIn } from './pkce.ts';

const clientId = 'offshoot-console';
const basePath = '/console';
const renewedBeforeSeconds = 60;

interface Token {
  text: string;
  expiresAt: number;
}

let token: Token | undefined;
let renewing: Promise<string> | undefined;

/** So that the person comes back to where they are. */
const here = () => `${location.pathname.slice(basePath.length)}${location.search}${location.hash}`;

/** For what takes a second factor: whoever has one is asked for it on the way. */
export const signInAgain = (): Promise<void> => leaveToSignIn(here());

/** The person has to sign in; the page is about to be left for that. */
export class SignedOut extends Error {}

/** Where the platform says it is: sign-ins come back there, whatever name people used to get here. */
const platformUrl = () => document.querySelector<HTMLMetaElement>('meta[name="offshoot-url"]')?.content ?? location.origin;

export async function accessToken(): Promise<string> {
  if (token && token.expiresAt > Date.now()) return token.text;
  renewing ??= renew().finally(() => (renewing = undefined));
  return renewing;
}

/** What the API refuses is renewed before it is given up: somebody may have changed what the token was good for. */
export function forgetAccessToken(refused: string) {
  if (token?.text === refused) token = undefined;
}

async function renew(): Promise<string> {
  const isWorthAsking = document.cookie.includes('offshoot_console_signed_in=1');
  const reply = isWorthAsking ? await askForToken({ grant_type: 'refresh_token' }) : undefined;
  if (reply?.ok) return keep(await reply.json());
  if (reply && reply.status >= 500) throw new Error('The platform cannot be reached just now.');
  await leaveToSignIn(here());
  throw new SignedOut();
}

function keep(reply: { access_token: string; expires_in: number }): string {
  token = { text: reply.access_token, expiresAt: Date.now() + (reply.expires_in - renewedBeforeSeconds) * 1000 };
  return token.text;
}

const askForToken = (parameters: Record<string, string>) =>
  fetch('/oauth2/token', { method: 'POST', body: new URLSearchParams({ client_id: clientId, ...parameters }) });

export async function leaveToSignIn(returnTo: string): Promise<void> {
  const url = platformUrl();
  if (location.origin !== new URL(url).origin) return location.replace(`${url}${basePath}${returnTo}`);
  const { state, challenge } = await beginSignIn(returnTo);
  const parameters = {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: `${url}${basePath}/signed-in`,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  location.assign(`/oauth2/authorize?${new URLSearchParams(parameters).toString()}`);
}

export type SignInEnd = { returnTo: string } | { refusal: string };

/** The browser is back from signing in. */
export async function finishSignIn(answer: URLSearchParams): Promise<SignInEnd> {
  const begun = endSignIn();
  const code = answer.get('code');
  const told = answer.get('error_description');
  if (code === null || begun?.state !== answer.get('state'))
    return { refusal: told ?? 'This sign-in was not begun in this tab, or was finished already.' };
  const redirect_uri = `${platformUrl()}${basePath}/signed-in`;
  const reply = await askForToken({ grant_type: 'authorization_code', code, redirect_uri, code_verifier: begun.verifier });
  if (!reply.ok)
    return { refusal: ((await reply.json()) as { error_description?: string }).error_description ?? 'The sign-in was refused.' };
  keep(await reply.json());
  return { returnTo: begun.returnTo };
}

/** Ends this sign-in and the session of the browser, so that the next person is asked who they are. */
export async function signOut(): Promise<void> {
  await fetch('/oauth2/revoke', { method: 'POST', body: new URLSearchParams({ client_id: clientId }) });
  await fetch('/sign-out', { method: 'POST', body: new URLSearchParams() });
  token = undefined;
  location.assign(`${basePath}/signed-out`);
}
