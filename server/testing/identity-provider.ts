/** Another identity provider, on this machine: OpenID Connect by a second instance of the library, whose people sign in by being named. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface KnownElsewhere {
  sub: string;
  email?: string;
  email_verified?: boolean | string;
}

export interface TestIdentityProvider {
  issuer: string;
  /** The value of the setting, for providers that the platform knows by this name. */
  setting(name: string): string;
  /** Whoever comes is this person from now on. */
  signInAs(person: KnownElsewhere): void;
  /** Lets the browser through, as somebody would who is signed in there; answers where it is sent back to. */
  passThrough(address: string): Promise<string>;
  /** Replaces replies of this path, in place of the provider's own; `undefined` for its own again. */
  answerAt(path: string, answer: ((reply: Record<string, unknown>) => unknown) | undefined): void;
  close(): void;
}

const client = { client_id: 'offshoot at work', client_secret: 'a secret: with / and @' };

export async function openTestIdentityProvider(returnAddresses: readonly string[]): Promise<TestIdentityProvider> {
  let person: KnownElsewhere = { sub: 'nobody' };
  const answers = new Map<string, (reply: Record<string, unknown>) => unknown>();
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ ...client, redirect_uris: [...returnAddresses], grant_types: ['authorization_code'], response_types: ['code'] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ ...person, sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/here/${uid}` },
    pkce: { required: () => true },
  });
  const answer = provider.callback();
  const letThrough = async (request: IncomingMessage, response: ServerResponse) => {
    const { params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: person.sub, clientId: String(params['client_id']) });
    grant.addOIDCScope(String(params['scope']));
    const result = { login: { accountId: person.sub }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
  server.on('request', (request, response) => {
    const changed = answers.get(request.url?.split('?', 1)[0] ?? '');
    if (changed) changeReply(response, changed);
    void (request.url?.startsWith('/here/') ? letThrough(request, response) : answer(request, response));
  });
  return {
    issuer,
    setting: (name) => {
      const url = new URL(`${issuer}/`);
      [url.username, url.password] = [encodeURIComponent(client.client_id), encodeURIComponent(client.client_secret)];
      return `${url.href}?name=${encodeURIComponent(name)}`;
    },
    signInAs: (next) => void (person = next),
    passThrough: (address) => passThrough(issuer, address),
    answerAt: (path, change) => void (change ? answers.set(path, change) : answers.delete(path)),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The library ends a reply with one piece of JSON. */
function changeReply(response: ServerResponse, change: (reply: Record<string, unknown>) => unknown) {
  const end = response.end.bind(response);
  response.end = ((body: string | Buffer) => {
    const changed = JSON.stringify(change(JSON.parse(String(body)) as Record<string, unknown>));
    response.setHeader('content-length', Buffer.byteLength(changed));
    return end(changed);
  }) as typeof response.end;
}

async function passThrough(issuer: string, address: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = address;
  while (at.startsWith(issuer)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await fetch(at, { redirect: 'manual', headers: { cookie, accept: 'text/html' } });
    for (const line of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const { location } = Object.fromEntries(reply.headers);
    if (location === undefined) throw new Error(`The identity provider answered ${reply.status}: ${await reply.text()}`);
    at = new URL(location, at).href;
  }
  return at;
}
