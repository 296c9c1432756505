/** The OpenAPI 3.1 document of the API, produced from the declarations. */
import type { TObject, TSchema } from 'typebox';
import { filterOperators, pageSizeMax, type Listing } from './paging.ts';
import type { Entity, JudgedQuery, Operation, Returns } from './operation.ts';
import { statusOfProblem, type ProblemKind } from './problem.ts';
import type { Rooms } from './room.ts';
import { isUpload } from './upload.ts';

/** Where a part of the document is found from a link's `meta`. */
export const documentPath = '/openapi.json';

/** Where a reply about one thing says what cannot be done to it just now, and why. */
export const notNowKey = '_not_now';

/** `API token` is documented as `APIToken`. */
export const componentName = ({ name }: Entity) => name.replaceAll(/(?:^|[ -])(\w)/g, (_, letter: string) => letter.toUpperCase());

export const pathParameters = (path: string) => [...path.matchAll(/{(\w+)}/g)].map(([, name = '']) => name);

type Json = Record<string, unknown>;

export function openapi(rooms: Rooms, serverUrl: string): Json {
  const paths: Record<string, Json> = {};
  const entities = new Map<string, Entity>();
  for (const { name: tag, operations } of rooms) {
    for (const [operationId, operation] of Object.entries(operations)) {
      (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describeOperation(operation, { operationId, tag });
      if ('of' in operation.returns) entities.set(componentName(operation.returns.of), operation.returns.of);
      if (operation.on) entities.set(componentName(operation.on), operation.on);
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Offshoot',
      version: '1.0',
      description: 'A self-hosted platform where every Git branch is the whole stack, with its own copy of the data.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: serverUrl }],
    security: [{ accessToken: [] }],
    tags: rooms.map(({ name, about }) => ({ name, description: about })),
    paths,
    components: {
      securitySchemes: {
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Exchange an API token at POST /oauth2/token; an access token is valid for 900 seconds.',
        },
      },
      schemas: {
        ...Object.fromEntries([...entities].sort(([a], [b]) => a.localeCompare(b)).map(([name, entity]) => [name, withLinks(entity)])),
        Error: errorSchema,
        Link: linkSchema,
      },
    },
  };
}

const linkSchema = {
  type: 'object',
  required: ['href'],
  properties: {
    href: { type: 'string' },
    method: { type: 'string', description: 'The HTTP method, on actions of the account family.' },
    meta: { type: 'object', description: 'The schema of the object (self) or the operations by HTTP method (actions).' },
  },
};

const notNowSchema = {
  type: 'object',
  description:
    'Why an action that the caller is permitted is not among the links, by the name of the link. Only in replies about one thing, and only where there is such an action.',
  additionalProperties: { type: 'string' },
};

const errorSchema = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string' },
    message: { type: 'string', description: 'What went wrong and what to do, in a sentence.' },
    title: { type: 'string' },
    status: { type: ['integer', 'string'] },
    code: { type: 'integer' },
    detail: { type: ['object', 'string'], description: 'What is wrong, by field.', additionalProperties: true },
  },
};

const withLinks = ({ schema, links }: Entity): Json => {
  const { properties, ...rest } = schema as TSchema & { properties: Json };
  const link = { $ref: '#/components/schemas/Link' };
  return {
    ...rest,
    properties: {
      ...properties,
      _links: { type: 'object', additionalProperties: links ? { anyOf: [link, { type: 'array', items: link }] } : link },
      [notNowKey]: notNowSchema,
    },
  };
};

const reference = (entity: Entity) => ({ $ref: `#/components/schemas/${componentName(entity)}` });
const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
const errorReply = (description: string) => ({ description, ...json({ $ref: '#/components/schemas/Error' }) });

/** One operation object. Link `meta` shows it too, where the names of operation and room add nothing. */
export function describeOperation(operation: Operation, named: { operationId?: string; tag?: string } = {}): Json {
  const { summary, permission, on, query, body, example, returns, path, method, deprecated, absent, failureBodies } = operation;
  return {
    ...(named.operationId && { operationId: named.operationId }),
    ...(named.tag && { tags: [named.tag] }),
    summary,
    ...(deprecated && { deprecated }),
    ...(permission === 'public' ? { security: [] } : { 'x-permission': permission }),
    parameters: [
      ...pathParameters(path).map((name) => ({ name, in: 'path', required: true, schema: on?.params[name] ?? { type: 'string' } })),
      ...queryParameters(query && documentedQuery(query)),
      ...(returns.kind === 'page' ? listParameters(returns.listing) : []),
    ],
    ...(body && {
      requestBody: {
        required: method !== 'DELETE' && needsBody(body),
        content: isUpload(body)
          ? { 'multipart/form-data': { schema: body } }
          : { 'application/json': { schema: body, ...(example !== undefined && { example }) } },
      },
    }),
    responses: {
      ...describeReturns(operation),
      ...((body || query || returns.kind === 'page') && { '400': errorReply('What is wrong, by field') }),
      ...(permission !== 'public' && { '401': errorReply('No valid access token') }),
      ...(permission !== 'public' && permission !== 'signed-in' && { '403': errorReply(`Needs the permission ${permission}`) }),
      ...(on && { [absent?.status ?? 404]: errorReply(`No such ${on.name}, or not visible to the caller`) }),
      ...((operation.allowedWhen || (body && method === 'POST')) && { '409': errorReply('In conflict with the present state') }),
      ...describeFailures(failureBodies),
    },
  };
}

const failureDescriptions: Partial<Record<ProblemKind, string>> = {
  'invalid-request': 'What is wrong, by parameter',
  forbidden: 'Absent, or not for the caller',
  'too-much-data': 'More would have to be read than is allowed',
};

const describeFailures = (bodies: Operation['failureBodies'] = {}) =>
  Object.fromEntries(
    Object.entries(bodies).map(([kind, { schema }]) => [
      statusOfProblem[kind as ProblemKind],
      { description: failureDescriptions[kind as ProblemKind] ?? kind, ...(schema && json(schema)) },
    ]),
  );

/** The schema of a query, whoever judges what is sent. */
export const documentedQuery = (query: TObject | JudgedQuery): TObject => ('read' in query ? query.documented : query);

/** No body is read as an empty object. */
const needsBody = (body: TSchema) =>
  isUpload(body) || !('properties' in body) || ((body as { required?: string[] }).required ?? []).length > 0;

function queryParameters(query: TSchema | undefined) {
  const { properties = {}, required = [] } = (query ?? {}) as { properties?: Record<string, TSchema>; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name: (schema as { type?: string }).type === 'array' ? `${name}[]` : name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function listParameters({ sort, filter = {}, sizeMax = pageSizeMax }: Listing) {
  return [
    { name: 'page[size]', in: 'query', schema: { type: 'integer', minimum: 1, maximum: sizeMax } },
    { name: 'page[before]', in: 'query', schema: { type: 'string' } },
    { name: 'page[after]', in: 'query', schema: { type: 'string' } },
    { name: 'sort', in: 'query', schema: { type: 'string', enum: sort.flatMap((field) => [field, `-${field}`]) } },
    ...Object.entries(filter).map(([field, kind]) => ({
      name: `filter[${field}]`,
      in: 'query',
      style: 'deepObject',
      explode: true,
      schema: { type: 'object', properties: Object.fromEntries(filterOperators[kind].map((operator) => [operator, { type: 'string' }])) },
    })),
  ];
}

const statusText: Record<number, string> = { 200: 'OK', 201: 'Created', 204: 'No Content' };

function describeReturns({ returns, family }: Operation): Json {
  const status = statusOf(returns, family);
  const schema = replySchema(returns, family);
  const content =
    returns.kind === 'stream' ? { content: { [returns.type]: { schema: { type: 'string' } } } } : schema !== undefined && json(schema);
  return {
    [String(status)]: { description: statusText[status] ?? '', ...content },
    ...(returns.kind === 'updated' && returns.unlessSame && { 204: { description: 'There was nothing to change' } }),
  };
}

/** Never 202: a released client cannot read the body of one. */
export function statusOf(returns: Returns, family: Operation['family']): 200 | 201 | 204 {
  switch (returns.kind) {
    case 'created':
      return 201;
    case 'plain':
    case 'nothing':
      return returns.status;
    case 'deleted':
      return family === 'project' ? 200 : 204;
    case 'one':
    case 'updated':
    case 'array':
    case 'page':
    case 'stream':
      return 200;
  }
}

function replySchema(returns: Returns, family: Operation['family']): unknown {
  switch (returns.kind) {
    case 'one':
      return reference(returns.of);
    case 'created':
    case 'updated':
      return family === 'project' ? acceptedSchema(reference(returns.of)) : reference(returns.of);
    case 'deleted':
      return family === 'project' ? acceptedSchema({ type: 'object' }) : undefined;
    case 'array':
      return { type: 'array', items: reference(returns.of) };
    case 'page':
      return family === 'project' || returns.listing.bare
        ? { type: 'array', items: reference(returns.of) }
        : pageSchema(reference(returns.of), returns.listing);
    case 'plain':
      return returns.schema;
    case 'stream':
    case 'nothing':
      return undefined;
  }
}

const acceptedSchema = (entitySchema: unknown) => ({
  type: 'object',
  required: ['status', 'code'],
  properties: {
    status: { type: 'string' },
    code: { type: 'integer' },
    _embedded: { type: 'object', properties: { activities: { type: 'array', items: { type: 'object' } }, entity: entitySchema } },
  },
});

const pageSchema = (item: unknown, { key = 'items', uncounted }: Listing) => ({
  type: 'object',
  required: [key, ...(uncounted ? [] : ['count']), '_links'],
  properties: {
    [key]: { type: 'array', items: item },
    ...(!uncounted && { count: { type: 'integer', description: 'Over all pages.' } }),
    _links: { type: 'object', additionalProperties: { $ref: '#/components/schemas/Link' } },
  },
});
