/**
 * Serves the declared operations. The life of every request is `answer` below:
 * authenticate, load, permit, allow, parse, handle, present.
 */
import compress from '@fastify/compress';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { Caller, Platform } from '../platform.ts';
import { isPermitted } from './access.ts';
import { limitArrival } from './arrival-limit.ts';
import { audited } from './audit.ts';
import { inflateBody } from './compressed-body.ts';
import { admitsOtherOrigins, answerPreflight, headersForOtherOrigins } from './cross-origin.ts';
import { drainOnClose } from './drain-on-close.ts';
import { answerError, bearerChallenge, notFound, nothingAt, sendJson } from './errors.ts';
import { openHal, type Hal } from './hal.ts';
import { ulid } from './id.ts';
import { limitConnections } from './limit-connections.ts';
import { openapi, pathParameters, statusOf } from './openapi.ts';
import { hindranceOf, type Method, type Operation, type Returns } from './operation.ts';
import { countRequests } from './own-instruments.ts';
import { parseListRequest, type ListRequest } from './paging.ts';
import { compileBody, compileParams, compileQuery, parseJson, parseQueryString } from './parse.ts';
import { Problem } from './problem.ts';
import { serveHealth } from './health.ts';
import { publishReference } from './reference.ts';
import { logRequests, openRequestLog } from './request-log.ts';
import { openRequestLimit, type RequestLimit } from './request-limit.ts';
import { namesOf, operationsOf, type Rooms } from './room.ts';
import { compileSlashes, slashedName, splitName } from './names-with-slashes.ts';
import { isUpload, leaveBodiesUnread, receiveUpload } from './upload.ts';

const bodyBytesMax = 1024 * 1024;
const headerBytesMax = 16 * 1024;
const pathParameterCharactersMax = 500;
const requestSecondsMax = 60;
/** The time from the start of a connection to the end of the head of its first request, and how often it is looked at. */
const [headSecondsMax, headCheckedSeconds] = [15, 5];
const idleConnectionSecondsMax = 72;
const compressFromBytes = 8 * 1024;

export async function serveApi(rooms: Rooms, platform: Platform): Promise<FastifyInstance> {
  const http = openHttp(platform, compileSlashes(operationsOf(rooms)));
  await http.register(compress, { threshold: compressFromBytes, encodings: ['br', 'gzip'], globalDecompression: false });
  const operations = operationsOf(rooms);
  const names = namesOf(rooms);
  const hal = openHal(operations, platform.secrets);
  const limit = openRequestLimit();
  const [uploads, others] = [operations.filter(({ body }) => isUpload(body)), operations.filter(({ body }) => !isUpload(body))];
  for (const operation of others) serveOperation(http, answer(operation, names.get(operation) ?? '', hal, platform, limit), operation);
  await http.register(async (scope) => {
    leaveBodiesUnread(scope);
    for (const operation of uploads) serveOperation(scope, answer(operation, names.get(operation) ?? '', hal, platform, limit), operation);
  });
  refuseOtherMethods(http, operations);
  serveHealth(http, platform.db);
  publishReference(http, openapi(rooms, platform.config.url));
  for (const { mount } of rooms) if (mount) await http.register(async (scope) => mount(scope, platform));
  return http;
}

function openHttp(platform: Platform, encodeSlashes: (url: string) => string): FastifyInstance {
  const { config, log } = platform;
  const loggerInstance: FastifyBaseLogger = log;
  const proxies = believedProxies(config);
  const http = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    bodyLimit: bodyBytesMax,
    requestTimeout: 0,
    keepAliveTimeout: idleConnectionSecondsMax * 1000,
    http: { maxHeaderSize: headerBytesMax, headersTimeout: headSecondsMax * 1000, connectionsCheckingInterval: headCheckedSeconds * 1000 },
    trustProxy: proxies.length > 0 ? proxies : false,
    genReqId: config.tls ? idOfEdge : () => ulid(),
    childLoggerFactory: openRequestLog,
    rewriteUrl: ({ url = '/' }) => encodeSlashes(plainEqualsSigns(url)),
    routerOptions: { maxParamLength: pathParameterCharactersMax },
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply),
  });
  drainOnClose(http);
  limitConnections(http, proxies);
  limitArrival(http, requestSecondsMax);
  http.addHook('onRequest', setHeaders(config.url));
  http.addHook('onResponse', logRequests(log));
  http.addHook('onResponse', countRequests(platform));
  http.setErrorHandler(answerError);
  http.setNotFoundHandler(notFound);
  /** Bodies stay text until the caller is known: a stranger learns nothing from sending rubbish. */
  http.removeAllContentTypeParsers();
  http.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  return http;
}

const thisMachine = ['127.0.0.0/8', '::1/128'];

/** Who is believed about the address of a client: the edge, which is on this machine and where nobody else comes in, and the proxies that the operator named. */
const believedProxies = ({ tls, trustedProxies }: Platform['config']) => [...(tls ? thisMachine : []), ...trustedProxies];

/** Behind the edge a request has the id that the edge gave it, and that its client is told, so that both find it in the log. */
const idOfEdge = ({ headers: { 'x-request-id': id } }: { headers: IncomingHttpHeaders }) =>
  typeof id === 'string' && /^[\w.:-]{8,128}$/.test(id) ? id : ulid();

/** Clients write `/users/email=…` with the sign percent-encoded, as they may. */
function plainEqualsSigns(url: string) {
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  return path.includes('%3') ? path.replaceAll(/%3d/gi, '=') + url.slice(path.length) : url;
}

/** Whether browsers are to come back by https only. Of `localhost` this would hold for everything that somebody runs on their machine, at any port. */
const isRemembered = ({ protocol, hostname }: URL) => protocol === 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost');

function setHeaders(url: string) {
  const headers = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
    ...(isRemembered(new URL(url)) && { 'strict-transport-security': 'max-age=31536000' }),
  };
  const withOtherOrigins = { ...headers, ...headersForOtherOrigins };
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    reply.headers(admitsOtherOrigins(request) ? withOtherOrigins : headers).header('x-request-id', request.id);
    done();
  };
}

function serveOperation(http: FastifyInstance, handler: ReturnType<typeof answer>, operation: Operation) {
  const inflating = operation.body && !isUpload(operation.body) ? { preParsing: inflateBody } : {};
  for (const url of addressesOf(operation.path))
    http.route({ method: operation.method, url, handler, config: { operation }, ...inflating });
}

/** Everything under `/projects` is served under `/api/projects` too. */
const addressesOf = (path: string) => {
  const url = path.replaceAll(/{(\w+)}/g, ':$1');
  return url.startsWith('/projects/') || url === '/projects' ? [url, `/api${url}`] : [url];
};

/** The life of every request, in order. */
function answer(operation: Operation, name: string, hal: Hal, platform: Platform, limit: RequestLimit) {
  /** Compiled with the first request: all of them at once would take most of a start. */
  let compiled: { parse: ReturnType<typeof compileParse>; present: ReturnType<Hal> } | undefined;
  const status = statusOf(operation.returns, operation.family);
  const isRecorded = operation.method !== 'GET' && !operation.changesNothing;

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { parse, present } = (compiled ??= { parse: compileParse(operation), present: hal(operation) });
    const params = request.params as Record<string, string>;
    const caller = await authenticate(operation, request, platform);
    const { target, result } = await limit.within(caller, async (outside) => {
      const target = await load(operation, parse.params(params), caller, platform);
      permit(operation, caller, target);
      allow(operation, target, caller);
      const { query, list } = parse.query(request);
      // An upload may take as long as the caller likes, so it takes no place meanwhile.
      const body = isUpload(operation.body) ? await outside(async () => parse.body(request)) : parse.body(request);
      const handle = () =>
        operation.handle(
          { caller, params, target, query, list, body, outside, ...(operation.takesArrival && { arrival: arrivalOf(request) }) },
          platform,
        );
      const result: unknown = await (isRecorded && caller
        ? audited({ name, operation, caller, target, request }, platform, handle)
        : handle());
      return { target, result };
    });
    if (result === undefined && isSameTold(operation.returns)) return reply.code(noContent).send();
    reply.code(status);
    if (operation.returns.kind === 'stream') return sendStream(operation.returns.type, result as Tell, reply, limit.openStream(caller));
    const text = present(result, { caller, target, url: request.url });
    return text === '' ? reply.send() : sendJson(reply, text);
  };
}

const noContent = 204;
const isSameTold = (returns: Returns) => returns.kind === 'updated' && returns.unlessSame === true;

const arrivalOf = ({ ip, headers, body }: FastifyRequest) => ({ address: ip, headers, body: typeof body === 'string' ? body : '' });

type Tell = (gone: AbortSignal) => AsyncIterable<string | Uint8Array>;

/**
 * Line by line as it comes, the headers at once: clients wait for them. Never compressed, which would hold lines back. It ends when the server
 * closes: clients ask again.
 */
function sendStream(type: string, tell: Tell, reply: FastifyReply, ended: () => void) {
  const { raw, server } = reply.header('content-type', type.startsWith('text/') ? `${type}; charset=utf-8` : type).hijack();
  const gone = new AbortController();
  const end = () => gone.abort();
  server.server.once('close-streams', end);
  raw.once('close', () => {
    server.server.off('close-streams', end);
    end();
    ended();
  });
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  raw.flushHeaders();
  pipeline(Readable.from(tell(gone.signal)), raw, (error) => {
    if (error && !gone.signal.aborted) reply.log.warn({ error }, 'a stream broke off');
    // A client that left before this function was called closes nothing any more.
    end();
    ended();
  });
  return reply;
}

async function authenticate({ permission }: Operation, request: FastifyRequest, platform: Platform): Promise<Caller | undefined> {
  if (permission === 'public') return undefined;
  const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ', 2);
  if (scheme?.toLowerCase() !== 'bearer' || token === '') {
    throw new Problem('unauthenticated', 'Send an access token: Authorization: Bearer <token>.', { headers: bearerChallenge() });
  }
  const caller = await platform.callerOf(token, request.params as Record<string, string>);
  if (caller) return caller;
  const sentence = 'The access token is wrong or has expired; exchange your API token for a new one.';
  throw new Problem('unauthenticated', sentence, { headers: bearerChallenge('invalid_token', sentence) });
}

/** Absent and invisible are answered alike. */
async function load(operation: Operation, params: Record<string, string> | undefined, caller: Caller | undefined, platform: Platform) {
  const { on, find, absent } = operation;
  if (!on) return undefined;
  const target: unknown = params && (await (find ? find(params, caller as Caller, platform) : on.load(params, platform)));
  if (target !== undefined && isPermitted(on.view, caller, on.scope(target))) return target;
  throw absent ?? (await beyondTarget(operation, params, caller, platform)) ?? new Problem('not-found', `No such ${on.name}.`);
}

/** `/environments/main/rubbish`, where `main` exists: what is missing is not an environment of that long name. */
async function beyondTarget(
  { on, path }: Operation,
  params: Record<string, string> | undefined,
  caller: Caller | undefined,
  platform: Platform,
) {
  const name = on && slashedName(on);
  if (!name || !params || !path.endsWith(`{${name}}`)) return undefined;
  for (const [shorter, rest] of splitName(params[name] ?? '')) {
    const found: unknown = await on.load({ ...params, [name]: shorter }, platform);
    if (found !== undefined && isPermitted(on.view, caller, on.scope(found)))
      return new Problem('not-found', `There is nothing at /${rest} of the ${on.name} ${shorter}.`);
  }
  return undefined;
}

function permit({ permission, on, endpoint }: Operation, caller: Caller | undefined, target: unknown) {
  const scope = on ? on.scope(target) : {};
  const hindrance = caller?.hindrance(scope, permission, endpoint);
  if (hindrance) throw hindrance;
  if (isPermitted(permission, caller, scope)) return;
  throw new Problem('forbidden', `You need the permission ${permission} to do this.`);
}

function allow(operation: Operation, target: unknown, caller: Caller | undefined) {
  const hindrance = hindranceOf(operation, target, caller);
  if (hindrance) throw hindrance;
}

function compileParse({ on, path, query, body, returns }: Operation) {
  const known = Object.entries(on?.params ?? {}).filter(([name]) => pathParameters(path).includes(name));
  const fits = compileParams(Type.Object(Object.fromEntries(known)));
  const parseQuery = query && compileQueryParse(query);
  const parseBody = compileBodyParse(body);
  return {
    params: (params: Record<string, string>) => (fits(params) ? params : undefined),
    query: ({ url }: FastifyRequest) => {
      if (!parseQuery && returns.kind !== 'page') return nothingAsked;
      const given = url.split('?', 2)[1] ?? '';
      const list = returns.kind === 'page' ? parseListRequest(returns.listing, parseQueryString(given)) : nothingAsked.list;
      return { query: parseQuery?.(given), list };
    },
    body: parseBody,
  };
}

function compileQueryParse(query: NonNullable<Operation['query']>): (given: string) => unknown {
  if ('read' in query) return query.read;
  const parse = compileQuery(query);
  return (given) => parse(parseQueryString(given));
}

function compileBodyParse(body: TSchema | undefined): (request: FastifyRequest) => unknown {
  if (!body) return () => undefined;
  if (isUpload(body)) return (request) => receiveUpload(request, body);
  const parse = compileBody(body);
  return (request) => parse(bodyOf(request));
}

/** Clients carry parameters over from other requests; where none are declared, they are not even read. */
const nothingAsked = { query: undefined, list: {} as ListRequest };

/** The content types that programs send when nobody told them one, as `curl -d` does. */
const unsaidTypes = new Set(['', 'application/x-www-form-urlencoded', 'text/plain']);

function bodyOf({ body, headers }: FastifyRequest): unknown {
  if (typeof body !== 'string' || body === '') return {};
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isJson = type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
  if (!isJson && !(unsaidTypes.has(type) && /^\s*[[{]/.test(body))) {
    throw new Problem('unsupported-media-type', 'Send the body as JSON, with Content-Type: application/json.');
  }
  return parseJson(body);
}

const methods: Method[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];

/** Where the thing itself does not have the method, what follows its name in the path is no part of the name. */
function isBeyond(url: string, { params }: FastifyRequest, slashed: ReadonlySet<string>) {
  const name = /:(\w+)$/.exec(url)?.[1] ?? '';
  return slashed.has(name) && ((params as Record<string, string>)[name]?.includes('/') ?? false);
}

/** A known path with another method is answered 405, and told which methods there are. */
function refuseOtherMethods(http: FastifyInstance, operations: readonly Operation[]) {
  const offered = new Map<string, Set<Method>>();
  for (const { path, method } of operations) {
    for (const url of addressesOf(path)) offered.set(url, (offered.get(url) ?? new Set()).add(method));
  }
  const slashed = new Set(operations.flatMap(({ on }) => (on ? (slashedName(on) ?? []) : [])));
  for (const [url, known] of offered) {
    const allow = [...known, ...(known.has('GET') ? ['HEAD'] : [])].join(', ');
    http.route({ method: 'OPTIONS', url, handler: answerPreflight(allow), config: { isPreflight: true } });
    const others = methods.filter((method) => !http.hasRoute({ method, url }));
    if (others.length === 0) continue;
    http.route({
      method: others,
      url,
      handler: (request) => {
        if (isBeyond(url, request, slashed)) throw nothingAt(request);
        throw new Problem('method-not-allowed', `${request.method} is not possible here; use ${allow}.`, { headers: { allow } });
      },
    });
  }
}
