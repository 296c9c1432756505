/**
 * What every code host of the tests has: a repository with branches, tags and pull requests, webhooks, comments and statuses, served over HTTP on loopback. How that looks
 * on the wire of a host is in a file of its own for each. Addresses of the public hosts lead here, too.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, Delivery, Send } from './code-host.ts';

export interface TestPullRequest {
  number: number;
  title: string;
  state: 'open' | 'merged' | 'closed';
  isDraft: boolean;
  isFromFork: boolean;
  source: string;
  target: string;
  commit: string;
}

export interface HostState {
  id: number;
  owner: string;
  name: string;
  /** Under which it is still found, by a redirect. */
  formerName: string | undefined;
  branches: Map<string, string>;
  tags: Map<string, string>;
  pullRequests: Map<number, TestPullRequest>;
  /** As they were sent. */
  hooks: Map<number, Record<string, unknown>>;
  comments: { id: number; pullRequest: number; text: string; version: number }[];
  statuses: { commit: string; body: Record<string, unknown> }[];
  /** What is accepted now. */
  token: string;
  /** Replies that the next requests get in the place of their own. */
  instead: Partial<WireReply>[];
  requests: WireRequest[];
  /** Of a page, whatever is asked for. */
  itemsMax: number;
  /** Where the server is. */
  origin: string;
}

export interface WireRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: NodeJS.Dict<string | string[]>;
  body: Record<string, unknown>;
}

export interface WireReply {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

export type Happening =
  | { kind: 'ref'; ref: string; commit: string | undefined }
  | { kind: 'pull-request'; number: number; as: 'opened' | 'changed' | 'closed' }
  | { kind: 'renamed' }
  | { kind: 'unrelated' };

export interface HostWire {
  isAuthorized(request: WireRequest, state: HostState): boolean;
  /** The most particular first. What the pattern captures is handed over, decoded. */
  routes: readonly (readonly [method: string, pattern: RegExp, answer: RouteAnswer])[];
  deliver(state: HostState, happening: Happening, secret: string): Delivery;
}

export type RouteAnswer = (state: HostState, request: WireRequest, ...parts: string[]) => Partial<WireReply>;

export const testToken = 'secret-token-1';

export const newHostState = (): HostState => ({
  id: 4711,
  owner: 'acme',
  name: 'shop',
  formerName: undefined,
  branches: new Map([['main', 'a'.repeat(40)]]),
  tags: new Map(),
  pullRequests: new Map(),
  hooks: new Map(),
  comments: [],
  statuses: [],
  token: testToken,
  instead: [],
  requests: [],
  itemsMax: 3,
  origin: '',
});

export interface TestHost {
  state: HostState;
  send: Send;
  deliver(happening: Happening, secret: string): Delivery;
  close(): void;
}

export async function serveTestHost(wire: HostWire): Promise<TestHost> {
  const state = newHostState();
  const server = createServer((incoming, outgoing) => {
    void incoming.toArray().then((chunks) => {
      const { status = 200, headers = {}, body } = answerTo(wire, state, requestOf(incoming, Buffer.concat(chunks).toString('utf8')));
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
      outgoing.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    state,
    send: sendTo(state.origin),
    deliver: (happening, secret) => wire.deliver(state, happening, secret),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Follows nobody, and takes what is for public hosts to the server of the test. */
const sendTo =
  (origin: string): Send =>
  async ({ url, method, headers, body }): Promise<Answer> => {
    const { pathname, search } = new URL(url);
    const reply = await fetch(origin + pathname + search, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) });
    return { status: reply.status, headers: Object.fromEntries(reply.headers), body: Buffer.from(await reply.arrayBuffer()) };
  };

function requestOf(
  { method = 'GET', url = '/', headers }: { method?: string | undefined; url?: string | undefined; headers: object },
  text: string,
): WireRequest {
  const { pathname, searchParams } = new URL(url, 'http://host');
  const body = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : Object.fromEntries(new URLSearchParams(text));
  return { method, path: pathname, query: searchParams, headers: headers as WireRequest['headers'], body };
}

function answerTo(wire: HostWire, state: HostState, request: WireRequest): Partial<WireReply> {
  state.requests.push(request);
  const instead = state.instead.shift();
  if (instead) return instead;
  if (!wire.isAuthorized(request, state))
    return { status: 401, body: { message: `401 Unauthorized: ${String(request.headers['authorization'])}` } };
  const { formerName, name } = state;
  if (formerName !== undefined && request.path.includes(formerName))
    return {
      status: 301,
      headers: { location: request.path.replace(formerName, name) + searchOf(request) },
      body: { message: 'Moved Permanently' },
    };
  for (const [method, pattern, answer] of wire.routes) {
    const match = method === request.method ? request.path.match(pattern) : null;
    if (match) return answer(state, request, ...match.slice(1).map(decodeURIComponent));
  }
  return notFound;
}

const searchOf = ({ query }: WireRequest) => (query.size > 0 ? `?${query.toString()}` : '');

export const notFound: Partial<WireReply> = { status: 404, body: { message: 'Not Found' } };

/** One page of a list, with `Link` to the next. */
export function pageByLink(state: HostState, { path, query }: WireRequest, items: readonly unknown[]): Partial<WireReply> {
  const page = Number(query.get('page') ?? 1);
  const next = new URLSearchParams(query);
  next.set('page', String(page + 1));
  const isLast = page * state.itemsMax >= items.length;
  return {
    body: items.slice((page - 1) * state.itemsMax, page * state.itemsMax),
    headers: isLast
      ? {}
      : { link: `<https://behind.invalid${path}?page=1>; rel="first", <https://behind.invalid${path}?${next.toString()}>; rel="next"` },
  };
}

export const jsonDelivery = (headers: Record<string, string>, body: Buffer): Delivery => ({
  headers: { 'content-type': 'application/json', ...headers },
  body,
});

export const refsOf = (refs: Map<string, string>) => [...refs].map(([name, commit]) => ({ name, commit }));
export const pullRequestsIn = (state: HostState, wanted: (each: TestPullRequest) => boolean) =>
  [...state.pullRequests.values()].filter(wanted);
export const nothing = '0'.repeat(40);

/** Keeps what was sent under a new number. */
export function keepHook(state: HostState, body: Record<string, unknown>): number {
  const id = Math.max(0, ...state.hooks.keys()) + 1;
  state.hooks.set(id, body);
  return id;
}

export function keepComment(state: HostState, pullRequest: number, text: string) {
  const comment = { id: state.comments.length + 100, pullRequest, text, version: 0 };
  state.comments.push(comment);
  return comment;
}
