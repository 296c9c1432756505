/** What a browser and a program do together to sign somebody in, for tests. */
import { createHash, randomBytes, scryptSync } from 'node:crypto';
import type { TestPlatform } from './platform.ts';

export const password = 'correct horse "battery" stäple';
/** Hashed as cheaply as the stored form allows. */
export const password_hash = `$scrypt$ln=4,r=8,p=1$c2FsdA$${scryptSync(password.normalize('NFKC'), 'salt', 32, { N: 16 }).toString('base64').replace('=', '')}`;

export const returnTo = 'http://127.0.0.1:5003';
export const freshVerifier = () => randomBytes(32).toString('base64url');
let addresses = 0;

function freshAddress() {
  addresses += 1;
  return `10.${addresses >> 8}.${addresses & 255}.1`;
}

/** Keeps cookies by path, follows redirects on our site, sends forms as people fill them in. */
export function openBrowser({ send }: Pick<TestPlatform, 'send'>, remoteAddress = freshAddress()) {
  const cookies = new Map<string, { value: string; path: string }>();
  let at = '';

  const load = async (method: 'GET' | 'POST', url: string, fields?: Record<string, string>, headers: Record<string, string> = {}) => {
    const path = url.split('?', 1)[0] ?? '';
    const sent = [...cookies].filter(([, cookie]) => path.startsWith(cookie.path)).map(([name, { value }]) => `${name}=${value}`);
    const reply = await send({
      method,
      url,
      remoteAddress,
      headers: {
        host: 'localhost:8080',
        accept: 'text/html,*/*',
        cookie: sent.join('; '),
        ...(fields && {
          'content-type': 'application/x-www-form-urlencoded',
          origin: 'http://localhost:8080',
          'sec-fetch-site': 'same-origin',
        }),
        ...headers,
      },
      ...(fields && { payload: new URLSearchParams(fields).toString() }),
    });
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) keep(String(line));
    const { location } = reply.headers;
    if (location === undefined) at = url;
    return { ...reply, location: typeof location === 'string' ? location : undefined };
  };
  const keep = (line: string) => {
    const [, name = '', value = '', path = '/'] = /^([^=]+)=([^;]*).*?path=([^;]+)/.exec(line) ?? [];
    if (value === '') cookies.delete(name);
    else cookies.set(name, { value, path });
  };
  /** Follows redirects to the next page, or to the place that the sign-in returns to. */
  const follow = async (reply: Awaited<ReturnType<typeof load>>): Promise<Awaited<ReturnType<typeof load>>> =>
    reply.location?.startsWith('/') ? follow(await load('GET', reply.location)) : reply;

  return {
    cookies,
    remoteAddress,
    get address() {
      return at;
    },
    visit: async (url: string) => follow(await load('GET', url)),
    submit: async (fields: Record<string, string>, headers?: Record<string, string>) => follow(await load('POST', at, fields, headers)),
    signIn: async (login: string, secret = password) => follow(await load('POST', at, { login, password: secret, answer: 'sign-in' })),
    /** Types the password, and stays where that leads. */
    signInWithoutGoingOn: (login: string) => load('POST', at, { login, password, answer: 'sign-in' }),
  };
}

export type Browser = ReturnType<typeof openBrowser>;

/** Where a program sends the browser. */
export const authorizeUrl = (verifier: string, more: Record<string, string> = {}) => {
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const parameters = {
    redirect_uri: returnTo,
    state: 'the state',
    client_id: 'upsun-cli',
    prompt: 'consent',
    response_type: 'code',
    code_challenge,
    code_challenge_method: 'S256',
    scope: 'offline_access',
    ...more,
  };
  return `/oauth2/authorize?${new URLSearchParams(parameters).toString()}`;
};

/** What the program is told when the browser comes back. */
export const answerOf = ({ location = '' }: { location?: string | undefined }) => Object.fromEntries(new URL(location).searchParams);

/** The program that the user signs in to, on its side of OAuth. */
export function openProgram({ send }: Pick<TestPlatform, 'send'>) {
  /** Authenticates with Basic and an empty password, as the CLI does. */
  const token = (fields: Record<string, string>, client = 'upsun-cli') =>
    send({
      method: 'POST',
      url: '/oauth2/token',
      headers: { authorization: `Basic ${btoa(`${client}:`)}`, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString(),
    });
  return {
    token,
    codeExchange: (code: string, code_verifier: string, more = {}) =>
      token({ grant_type: 'authorization_code', code, redirect_uri: returnTo, code_verifier, ...more }),
    refresh: (refresh_token: string) => token({ grant_type: 'refresh_token', refresh_token }),
    me: async (accessToken: string) => (await send({ url: '/users/me', headers: { authorization: `Bearer ${accessToken}` } })).status,
  };
}
