/**
 * The OAuth2 library, told what is ours: who the people and the clients are, where things are kept, how long they last, what an access token
 * says. What a client's habits ask for beyond the protocol is done in front of it (token-endpoint.ts, authorize.ts), not by bending it.
 */
import type { EventEmitter } from 'node:events';
import { Provider, errors, interactionPolicy, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { fingerprint } from '../../kernel/secrets.ts';
import { isDatabaseAway } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { accessTokenSeconds, viaGrant } from './access-token.ts';
import { openAdapter } from './adapter.ts';
import { clients, consoleClient, consoleClientId, pagesClient, pagesClientId } from './clients.ts';
import { keepRefreshToken } from './console-cookies.ts';
import { errorPage, pageHeaders } from './layout.ts';
import { activeUser, useApiToken } from './queries.ts';
import { noteSignIn } from './sign-ins.ts';

/** The one scope of the one resource: whoever holds an access token acts as its owner. */
export const apiScope = 'api';
export const pagesPath = '/sign-in';

const day = 24 * 60 * 60;

/** Lifetimes in seconds. A refresh token is replaced whenever it is used, so its lifetime counts from the last use; a grant is the whole sign-in. */
const lifetimes = {
  AccessToken: accessTokenSeconds,
  IdToken: accessTokenSeconds,
  AuthorizationCode: 60,
  Interaction: 30 * 60,
  Session: 14 * day,
  RefreshToken: 30 * day,
  Grant: 180 * day,
};

export function openProvider(platform: Platform): Provider {
  const provider = new Provider(platform.config.url, configurationOf(platform));
  /** hand-over.ts sets the forwarding headers for scheme, host and address; no request reaches the library in any other way. */
  provider.proxy = true;
  provider.registerGrantType('api_token', apiTokenGrant(provider, platform), ['api_token']);
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === '/oauth2/token') {
      await noteSignIn(platform.db, ctx as KoaContextWithOIDC);
      finishTokenReply(ctx as KoaContextWithOIDC, platform.config.url);
    }
    keepRedirectRelative(ctx as KoaContextWithOIDC);
    for (const name of crossOriginHeaders) ctx.remove(name);
  });
  const events: EventEmitter = provider;
  const note = (error: unknown) => {
    if (isDatabaseAway(error)) platform.log.warn({ err: error }, 'the database was unreachable during a sign-in');
    else platform.log.error({ err: error }, 'bug');
  };
  events.on('server_error', (_ctx, error) => note(error));
  events.on('error', note);
  return provider;
}

function configurationOf({ config, db, keys, secrets }: Platform): Configuration {
  const cookie = { signed: true, httpOnly: true, overwrite: true, sameSite: 'lax' } as const;
  return {
    adapter: openAdapter(db, secrets),
    clients: [...clients, pagesClient(config.url), consoleClient(config.url)],
    clientAuthMethods: ['none'],
    clientBasedCORS: () => false,
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: {
      keys: keys.cookies,
      names: { session: 'offshoot_session', interaction: 'offshoot_sign_in', resume: 'offshoot_resume' },
      long: cookie,
      short: cookie,
    },
    /** Clients send `amr` to name the authentication methods that a challenge told them to ask for. */
    extraParams: ['amr'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    extraTokenClaims: claimsOfToken,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => config.url,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => {
          if (resource !== config.url) throw new errors.InvalidTarget();
          return apiOf(config.url);
        },
      },
    },
    findAccount: async (_ctx, id) => {
      const user = await activeUser(db, id);
      return (
        user && {
          accountId: user.id,
          generation: user.token_generation,
          mfaEnabled: user.mfa_enabled,
          claims: () => ({ sub: user.id }),
        }
      );
    },
    interactions: { policy: policy(), url: (_ctx, { uid }) => `${pagesPath}/${uid}` },
    /** The console has a refresh token without having asked for it; as it did not, the token ends with the session of the browser. */
    issueRefreshToken: (_ctx, client, code) =>
      Promise.resolve(
        client.grantTypeAllowed('refresh_token') && (code.scopes.has('offline_access') || client.clientId === consoleClientId),
      ),
    jwks: { keys: keys.accessTokens },
    /** Every sign-in is a grant of its own, so that signing out of one machine leaves the others alone. */
    loadExistingGrant: async (ctx) => {
      if (ctx.oidc.client?.clientId === pagesClientId) return pagesGrant(ctx, config.url);
      if (ctx.oidc.client?.clientId === consoleClientId) return consoleGrant(ctx, config.url);
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    pkce: { required: () => true },
    renderError: (ctx, out) => {
      ctx.type = 'html';
      ctx.set(pageHeaders());
      ctx.body = errorPage(out.error_description ?? out.error).html;
    },
    responseTypes: ['code'],
    rotateRefreshToken: true,
    routes: { authorization: '/oauth2/authorize', token: '/oauth2/token', revocation: '/oauth2/revoke', jwks: '/oauth2/jwks' },
    scopes: ['openid', 'offline_access'],
    ttl: lifetimes,
  };
}

const pagesGrantSeconds = 60;

/** Nobody is asked whether our own pages may know who they are. */
async function pagesGrant({ oidc }: KoaContextWithOIDC, url: string) {
  const grant = new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId: pagesClientId });
  Object.assign(grant, { expiresIn: pagesGrantSeconds });
  grant.addOIDCScope('openid');
  grant.addResourceScope(url, apiScope);
  await grant.save();
  return grant;
}

/** Nobody is asked whether our console may act for them; of one browser session it has one grant, in all tabs. */
async function consoleGrant({ oidc }: KoaContextWithOIDC, url: string) {
  const known = await oidc.provider.Grant.find(oidc.session?.grantIdFor(consoleClientId) ?? '');
  if (known) return known;
  const grant = new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId: consoleClientId });
  grant.addResourceScope(url, apiScope);
  await grant.save();
  return grant;
}

const apiOf = (url: string) => ({
  audience: url,
  scope: apiScope,
  accessTokenFormat: 'jwt' as const,
  jwt: { sign: { alg: 'ES256' as const } },
});

/**
 * Asks to sign in, then for a passcode of those who have a second factor, then for consent. A session whose person is gone or deactivated
 * counts as none. A client that asks for a second factor is not let through without one.
 */
function policy() {
  const prompts = interactionPolicy.base();
  const { Check, Prompt } = interactionPolicy;
  prompts
    .get('login')
    ?.checks.add(
      new Check('account_gone', 'sign in again', 'login_required', ({ oidc }) => oidc.session?.accountId !== undefined && !oidc.account),
    );
  const isMissing = new Check('second_factor', 'a passcode is needed', 'interaction_required', ({ oidc: { account, session, params } }) => {
    const asked = params?.['amr'];
    const isAsked = typeof asked === 'string' && asked.split(' ').includes('mfa');
    return account !== undefined && (account['mfaEnabled'] === true || isAsked) && !session?.amr?.includes('mfa');
  });
  prompts.add(new Prompt({ name: 'passcode' }, isMissing), 1);
  return prompts;
}

function claimsOfToken({ oidc }: KoaContextWithOIDC, token: { grantId?: string | undefined; gty?: string; scope?: string | undefined }) {
  const { AuthorizationCode, RefreshToken, Account } = oidc.entities;
  const signedIn = AuthorizationCode ?? RefreshToken;
  const grantId = token.grantId ?? '';
  return {
    access_id: Account?.accountId,
    via: token.gty === 'api_token' ? grantId : viaGrant(grantId),
    generation: Account?.['generation'],
    scp: token.scope?.split(' '),
    ...((signedIn?.amr ?? Account?.['amr']) !== undefined && { amr: signedIn?.amr ?? Account?.['amr'] }),
    ...(signedIn?.authTime && { auth_time: signedIn.authTime }),
  };
}

const apiTokenGrant =
  (provider: Provider, { db, config }: Platform) =>
  async (ctx: KoaContextWithOIDC) => {
    const { client, params } = ctx.oidc;
    const secret = params?.['api_token'];
    if (typeof secret !== 'string' || !client) throw new errors.InvalidRequest("missing required parameter 'api_token'");
    const holder = await useApiToken(db, fingerprint(secret));
    if (!holder) throw new errors.InvalidGrant('no such API token, or its owner is deactivated');
    ctx.oidc.entity('Account', {
      accountId: holder.user_id,
      generation: holder.token_generation,
      ...(holder.mfa_on_creation && { amr: ['mfa'] }),
      claims: () => ({ sub: holder.user_id }),
    });
    const token = new provider.AccessToken({
      accountId: holder.user_id,
      client,
      grantId: holder.api_token_id,
      gty: 'api_token',
      scope: apiScope,
    });
    token.resourceServer = new provider.ResourceServer(config.url, apiOf(config.url));
    ctx.body = { access_token: await token.save(), expires_in: token.expiration, token_type: 'bearer' };
  };

/** The words that clients look for when a grant is refused. */
const refusals: Record<string, string> = {
  api_token: 'Invalid API token',
  refresh_token: 'Invalid refresh token',
  authorization_code: 'Invalid authorization code',
};

function finishTokenReply(ctx: KoaContextWithOIDC, url: string) {
  const reply = ctx.body as Record<string, unknown>;
  if (typeof reply['token_type'] === 'string') reply['token_type'] = reply['token_type'].toLowerCase();
  if (ctx.oidc.client?.clientId === consoleClientId) keepRefreshToken(ctx, reply, url);
  if (reply['error'] !== 'invalid_grant') return;
  reply['error_description'] = refusals[String(ctx.oidc.params?.['grant_type'])] ?? reply['error_description'];
}

/** Headers that are removed because no page of another origin may call these endpoints; the library does not see the Origin, and would allow all. */
const crossOriginHeaders = ['access-control-allow-origin', 'access-control-expose-headers', 'vary'];

/** People reach us by more than one host name (localhost, 127.0.0.1), and their cookies belong to the name they use. */
function keepRedirectRelative(ctx: KoaContextWithOIDC) {
  const { location } = ctx.response.headers;
  if (typeof location === 'string' && location.startsWith(`${ctx.origin}/`)) ctx.set('location', location.slice(ctx.origin.length));
}
