/**
 * One identity provider that the operator has set, spoken to by OpenID Connect: authorization code, PKCE, state and nonce. What it is found to be (its endpoints
 * and keys) is asked for when somebody first wants to sign in with it, and again after an hour. Signatures of its tokens are always verified, not only trusted for the connection they came by.
 *
 * The operator vouches for the issuer's own host and for no other: endpoints that its document puts elsewhere are visited only if they are public.
 */
import * as oidc from 'openid-client';
import type { Outbound } from '../../../drivers/outbound/outbound.ts';
import type { IdentityProviderSettings } from '../../../setting-values.ts';

/** What has to be known again when the browser comes back. */
export interface Asked {
  state: string;
  nonce: string;
  verifier: string;
}

/** Who the provider says is at the browser. */
export interface Identity {
  issuer: string;
  subject: string;
  /** Undefined where the provider does not say that the address was verified. */
  verifiedEmail: string | undefined;
}

export interface IdentityProvider {
  readonly id: string;
  readonly name: string;
  /** Where to send the browser. Throws where the provider cannot be reached, or is not the one that was set. */
  signInAddress(asked: Asked, wishes: Wishes): Promise<string>;
  /** Throws unless the answer is the provider's own, to what was asked. */
  identityOf(query: URLSearchParams, asked: Asked): Promise<Identity>;
}

export interface Wishes {
  /** Whom the program expects. */
  login: string;
  /** Whether somebody who is signed in there has to prove anew who they are. */
  again: boolean;
}

interface Ways {
  outbound: Outbound;
  operatorsOutbound: Outbound;
}

const knownMilliseconds = 60 * 60 * 1000;
const requestSecondsMax = 10;
const replyBytesMax = 256 * 1024;

export function openIdentityProvider(settings: IdentityProviderSettings, ways: Ways, returnAddress: string): IdentityProvider {
  let known: { configuration: Promise<oidc.Configuration>; until: number } | undefined;
  const configuration = () => {
    if (known && known.until > Date.now()) return known.configuration;
    const found = discover(settings, ways);
    known = { configuration: found, until: Date.now() + knownMilliseconds };
    found.catch(() => (known = undefined));
    return found;
  };
  return {
    id: settings.id,
    name: settings.name,
    async signInAddress({ state, nonce, verifier }, { login, again }) {
      return oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: returnAddress,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(login !== '' && { login_hint: login }),
        ...(again && { prompt: 'login' }),
      }).href;
    },
    async identityOf(query, { state, nonce, verifier }) {
      const server = await configuration();
      const answer = new URL(`${returnAddress}?${query.toString()}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await oidc.authorizationCodeGrant(server, answer, checks);
      const { iss: issuer = '', sub: subject = '', ...claims } = tokens.claims() ?? {};
      const said = 'email' in claims ? claims : await userInfo(server, tokens.access_token, subject);
      return { issuer, subject, verifiedEmail: verifiedEmailOf(said) };
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: IdentityProviderSettings, ways: Ways): Promise<oidc.Configuration> {
  const server = new URL(issuer);
  const isPlain = server.protocol === 'http:';
  return oidc.discovery(server, clientId, { client_secret: clientSecret }, authentication(clientSecret), {
    [oidc.customFetch]: fetchBy(ways, server.host),
    timeout: requestSecondsMax,
    execute: [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])],
  });
}

/** A provider that says nothing of it takes the secret in a header. */
const authentication = (secret: string): oidc.ClientAuth => {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
};

const fetchBy =
  ({ outbound, operatorsOutbound }: Ways, issuerHost: string): oidc.CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const way = new URL(url).host === issuerHost ? operatorsOutbound : outbound;
    const reply = await way.request({
      url,
      method,
      headers,
      ...((typeof body === 'string' || body instanceof URLSearchParams) && { body: body.toString() }),
      ...(signal && { signal }),
      secondsMax: requestSecondsMax,
      replyBytesMax,
    });
    const replied = Object.entries(reply.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return new Response(reply.body.length === 0 ? null : new Uint8Array(reply.body), { status: reply.status, headers: replied });
  };

const userInfo = async (server: oidc.Configuration, accessToken: string, subject: string): Promise<Record<string, unknown>> =>
  server.serverMetadata().userinfo_endpoint === undefined ? {} : oidc.fetchUserInfo(server, accessToken, subject);

/** Whether it was verified has to be said by `true` itself: a text, or silence, is no. */
const verifiedEmailOf = ({ email, email_verified }: Record<string, unknown>) =>
  typeof email === 'string' && email_verified === true ? email.toLowerCase() : undefined;
