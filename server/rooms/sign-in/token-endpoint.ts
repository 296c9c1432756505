/**
 * `POST /oauth2/token` and `POST /oauth2/revoke`, in front of the OAuth2 library. Clients send forms or JSON; name themselves by HTTP Basic
 * with an empty password, in the body, or (when they refresh) not at all; and revoke access tokens, which the library cannot. The console
 * sends its refresh token in a cookie.
 * All of that becomes one plain form here. Whatever is no such request is answered 400 or 401 in OAuth's words.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errors, type Provider } from 'oidc-provider';
import { answerError, sendJson } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/parse.ts';
import { Problem } from '../../kernel/problem.ts';
import { fingerprint } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { isViaGrant, openAccessTokens } from './access-token.ts';
import { countToken } from './attempts.ts';
import { consoleClientId, isClient } from './clients.ts';
import { forgetRefreshToken, keptRefreshToken } from './console-cookies.ts';
import type { HandOver } from './hand-over.ts';
import { apiTokenBy, endGrant } from './queries.ts';

const bodyBytesMax = 16 * 1024;
const parametersMax = 30;

type Parameters = Map<string, string>;

export function mountTokenEndpoint(http: FastifyInstance, platform: Platform, provider: Provider, handOver: HandOver) {
  const { db, keys, config } = platform;
  const claimsOf = openAccessTokens(keys, config.url);
  const options = { bodyLimit: bodyBytesMax, errorHandler: answerOAuthError };

  http.post('/oauth2/token', options, async (request, reply) => {
    const parameters = parametersOf(request);
    const client = clientOf(request, parameters) ?? (await clientOfRefreshToken(provider, parameters));
    if (client === consoleClientId) putKeptToken(request, parameters, 'refresh_token', config.url);
    await countToken(db, await exchangedToken(db, provider, parameters), request.ip);
    await handOver(request, reply, { method: 'POST', url: '/oauth2/token', accept: 'application/json', form: formOf(parameters, client) });
  });

  http.post('/oauth2/revoke', options, async (request, reply) => {
    const parameters = parametersOf(request);
    const client = clientOf(request, parameters);
    if (client === consoleClientId) {
      putKeptToken(request, parameters, 'token', config.url);
      forgetRefreshToken(reply, config.url);
      if (!parameters.has('token')) return reply.code(200).send();
    }
    const token = parameters.get('token') ?? '';
    if (!token.includes('.')) {
      await countToken(db, (await provider.RefreshToken.find(token))?.grantId, request.ip);
      const form = formOf(parameters, client);
      return handOver(request, reply, { method: 'POST', url: '/oauth2/revoke', accept: 'application/json', form });
    }
    const claims = await claimsOf(token);
    await countToken(db, claims?.via, request.ip);
    if (claims && claims.client_id === client && isViaGrant(claims.via)) await endGrant(db, claims.via);
    return reply.code(200).send();
  });
}

/** Of the console nothing but the cookie counts. */
function putKeptToken(request: FastifyRequest, parameters: Parameters, name: 'refresh_token' | 'token', url: string) {
  const kept = keptRefreshToken(request, url);
  parameters.delete(name);
  if (kept !== undefined) parameters.set(name, kept);
}

/** Identifies the token that is offered in exchange, by an id that outlives its replacement; undefined when we did not issue the token. */
async function exchangedToken(db: Db, provider: Provider, parameters: Parameters): Promise<string | undefined> {
  const offered = (name: string) => parameters.get(name) ?? '';
  switch (parameters.get('grant_type')) {
    case 'api_token':
      return (await apiTokenBy(db, fingerprint(offered('api_token'))))?.id;
    case 'refresh_token':
      return (await provider.RefreshToken.find(offered('refresh_token')))?.grantId;
    case 'authorization_code':
      return (await provider.AuthorizationCode.find(offered('code')))?.grantId;
    case undefined:
    default:
      return undefined;
  }
}

function parametersOf({ body, headers }: FastifyRequest): Parameters {
  if (typeof body !== 'string' || body === '')
    throw new errors.InvalidRequest('The body is empty; send the parameters of the request in it.');
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? 'application/x-www-form-urlencoded';
  const read = readers[type];
  if (!read) throw new errors.InvalidRequest('Send the body as application/x-www-form-urlencoded or as application/json.');
  const entries = read(body);
  if (entries.length > parametersMax) throw new errors.InvalidRequest(`There are more than ${parametersMax} parameters; send fewer.`);
  const parameters: Parameters = new Map(entries);
  if (parameters.size < entries.length) throw new errors.InvalidRequest('A parameter is given twice; send each once.');
  return parameters;
}

const readers: Record<string, (body: string) => [string, string][]> = {
  'application/x-www-form-urlencoded': (body) => [...new URLSearchParams(body)],
  'application/json': (body) => {
    const value = parseJson(body);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new errors.InvalidRequest('The body must be a JSON object.');
    return Object.entries(value).map(([name, text]: [string, unknown]) => {
      if (typeof text !== 'string') throw new errors.InvalidRequest('Each parameter must be a string.');
      return [name, text];
    });
  },
};

/** The client that the request names, if it names one. Our clients have no secrets, so sending one is a mistake. */
function clientOf({ headers }: FastifyRequest, parameters: Parameters): string | undefined {
  const { authorization } = headers;
  const named = parameters.get('client_id');
  const basic = authorization === undefined ? undefined : basicCredentials(authorization);
  const secret = basic?.password || parameters.get('client_secret');
  const id = basic?.username ?? named;
  if (basic && named !== undefined && named !== basic.username)
    throw new errors.InvalidRequest('The Authorization header and the body name different clients; name one.');
  if (secret || (id !== undefined && !isClient(id)))
    throw new errors.InvalidClientAuth('unknown client, or a secret for one that has none');
  return id;
}

function basicCredentials(authorization: string) {
  const encoded = /^basic +([\w+/=-]+)$/i.exec(authorization)?.[1];
  const [username = '', ...password] = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':');
  if (encoded === undefined || password.length === 0) throw new errors.InvalidClientAuth('not HTTP Basic');
  return { username, password: password.join(':') };
}

/** Finds the client by the refresh token alone: the id of a client is no secret, so sending it would prove nothing. */
async function clientOfRefreshToken(provider: Provider, parameters: Parameters): Promise<string | undefined> {
  if (parameters.get('grant_type') !== 'refresh_token') return undefined;
  const client = (await provider.RefreshToken.find(parameters.get('refresh_token') ?? ''))?.clientId;
  return client ?? 'platform-api-user';
}

function formOf(parameters: Parameters, client: string | undefined): URLSearchParams {
  if (client === undefined) throw new errors.InvalidClientAuth('no client');
  const form = new URLSearchParams([...parameters]);
  form.delete('client_secret');
  form.set('client_id', client);
  return form;
}

/** Every failure is answered as `{error, error_description}`, except for bugs of ours. */
function answerOAuthError(error: FastifyError | Problem | errors.OIDCProviderError, request: FastifyRequest, reply: FastifyReply) {
  const told = oauthErrorOf(error);
  if (!told) return answerError(error, request, reply);
  const { status, headers = {}, ...body } = told;
  return sendJson(reply.code(status).headers(headers), JSON.stringify(body));
}

function oauthErrorOf(error: FastifyError | Problem | errors.OIDCProviderError) {
  if (error instanceof errors.OIDCProviderError) {
    const { statusCode: status, error: name, error_description = name } = error;
    return { status, error: name, error_description, ...(status === 401 && { headers: { 'www-authenticate': 'Basic realm="offshoot"' } }) };
  }
  if (error instanceof Problem && error.kind === 'too-many-requests') {
    return { status: error.status, error: 'too_many_requests', error_description: error.message, headers: error.headers };
  }
  const status = error instanceof Problem ? error.status : (error.statusCode ?? 500);
  return status < 500 ? { status: 400, error: 'invalid_request', error_description: error.message } : undefined;
}
