/** A program of one's own that signs people in through their browser: authorization code with PKCE, coming back to a port of this machine. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { eventually } from './eventually.ts';
import type { Reply } from './api.ts';

const returnSecondsMax = 60;
const clientId = 'offshoot-cli';

export interface NativeClient extends AsyncDisposable {
  /** Where to send the browser. */
  readonly address: string;
  /** What the browser brought back: `code` or `error`, and `state`. */
  untilReturned(): Promise<URLSearchParams>;
  redeem(code: string): Promise<Reply>;
  refresh(refreshToken: string): Promise<Reply>;
}

export async function openNativeClient(url: string): Promise<NativeClient> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  let returned: URLSearchParams | undefined;
  const server = createServer((request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname === '/') returned = searchParams;
    reply.setHeader('content-type', 'text/html').end('<!doctype html><title>Back</title><p>Welcome back');
  });
  await new Promise<void>((settle) => void server.listen(0, '127.0.0.1', settle));
  const bound = server.address();
  const redirectUri = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;

  const asked = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'offline_access',
    prompt: 'consent',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const tokenRequest = async (form: Record<string, string>): Promise<Reply> => {
    const reply = await fetch(new URL('/oauth2/token', url), {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, ...form }),
    });
    return { status: reply.status, json: await reply.json() };
  };
  return {
    address: `${url}/oauth2/authorize?${asked.toString()}`,
    async untilReturned() {
      await eventually('the browser comes back', () => returned !== undefined, returnSecondsMax);
      if (returned?.get('state') !== state) throw new Error('The browser came back with another state.');
      return returned;
    },
    redeem: (code) => tokenRequest({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }),
    refresh: (refreshToken) => tokenRequest({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((settle) => {
        server.close(() => settle());
        server.closeAllConnections();
      }),
  };
}
