/** How failures are told: the body that each family of clients expects, a sentence for people, and never a stack trace. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from './operation.ts';
import { Problem, type ProblemKind } from './problem.ts';
import { isDatabaseAway } from './sql.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
    /** The route answers what browsers ask before a request. */
    isPreflight?: boolean;
  }
}

const asItIs = (text: unknown) => text as string;

/** Without a charset, which JSON has no choice of: a released client reads nothing else as JSON. Fastify would add one, unless it has a serializer. */
export const sendJson = (reply: FastifyReply, text: string, type = 'application/json') =>
  reply.serializer(asItIs).header('content-type', type).send(text);

export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const problem = error instanceof Problem ? error : (problemOfFramework(error) ?? problemOfDatabase(error));
  if (problem?.internal || problem?.cause) request.log.info({ err: problem.cause, internal: problem.internal }, problem.message);
  if (!problem) request.log.error({ err: error }, 'bug');
  const status = problem?.status ?? 500;
  const message = problem?.message ?? `Something went wrong on our side. Quote the request id ${request.id} when you report it.`;
  reply.code(status).headers(problem?.headers ?? {});
  const told = problem && request.routeOptions?.config?.operation?.failureBodies?.[problem.kind];
  const isProject = familyOf(request) === 'project';
  const body = told ? told.of(problem) : isProject ? projectBody(status, message, problem) : accountBody(status, message, problem);
  if (body === undefined) return reply.send();
  return sendJson(reply, JSON.stringify(body), isProblemDocument(request) ? 'application/problem+json' : undefined);
}

export const nothingAt = ({ method, url }: FastifyRequest) =>
  new Problem('not-found', `There is nothing at ${method} ${url.split('?', 1)[0]}.`);

export const notFound = (request: FastifyRequest, reply: FastifyReply) => answerError(nothingAt(request), request, reply);

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  499: 'Too Much Data',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const accountBody = (status: number, message: string, problem: Problem | undefined) => ({
  error: message,
  message,
  title: titles[status],
  status,
  detail: problem?.fields ?? message,
  ...problem?.body,
});

const projectBody = (status: number, message: string, problem: Problem | undefined) => ({
  status: titles[status],
  code: status,
  message,
  title: titles[status],
  detail: problem?.fields ?? { error: message },
  error: message,
  ...problem?.body,
});

/** An unknown path below /projects is most likely a project's. */
const familyOf = ({ routeOptions, url }: FastifyRequest) =>
  routeOptions?.config?.operation?.family ?? (/^(\/api)?\/projects\//.test(url) ? 'project' : 'account');

/** Whether clients of this path read failures as problem documents. */
const isProblemDocument = ({ url }: FastifyRequest) =>
  /^\/(organizations|regions)(\/|\?|$)|\/(user|team|project)-access(\/|\?|$)/.test(url);

const kindOfStatus: Record<number, ProblemKind> = {
  400: 'invalid-request',
  404: 'not-found',
  413: 'too-large',
  414: 'too-large',
  415: 'unsupported-media-type',
};

const frameworkSentences: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is too large; the limit is 1 MiB.',
  FST_ERR_BAD_URL: 'The address is not correctly percent-encoded.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the address is too long.',
};

function problemOfFramework(error: unknown): Problem | undefined {
  const { statusCode = 500, code, message } = error as FastifyError;
  const kind = kindOfStatus[statusCode];
  return kind && new Problem(kind, frameworkSentences[code] ?? `${message}.`);
}

const problemOfDatabase = (cause: unknown) =>
  isDatabaseAway(cause)
    ? new Problem('unavailable', 'The database cannot be reached just now; try again in a moment.', {
        cause,
        headers: { 'retry-after': '2' },
      })
    : undefined;

/** The challenge that a 401 must carry. */
export const bearerChallenge = (error?: string, description?: string) => ({
  'www-authenticate': error ? `Bearer realm="offshoot", error="${error}", error_description="${description}"` : 'Bearer realm="offshoot"',
});
