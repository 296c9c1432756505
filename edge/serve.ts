/**
 * The life of a request, from top to bottom: which environment and route it is for; whether there is room for it and whether it may enter; whether a
 * redirect answers it, or it must wait; and then a file, the cache, an instance or a place elsewhere. Pages that include others are put together on their
 * way back (includes/).
 */
import { openCache, type EdgeCache, type Lookup, type Store } from './cache/cache.ts';
import { httpRequestWriter } from './upstream/request-writer.ts';
import { ConcurrencyLimits } from './client/concurrency-limits.ts';
import { Delivery, type Failure, type Order } from './upstream/delivery.ts';
import { sizeBytes } from './routing/durations-and-sizes.ts';
import { proxyTargetOf, isLoop, loopLine } from './upstream/proxy-target.ts';
import type { Reply } from './exchange.ts';
import { startScript } from './upstream/fastcgi-order.ts';
import { Hold, mustWait } from './routing/hold.ts';
import { mayEnter, refusal } from './routing/http-access.ts';
import { InnerVisit } from './includes/inner-visit.ts';
import { PageAssembly, type PagesAhead } from './includes/page-assembly.ts';
import { Instances } from './upstream/instances.ts';
import { VisitsNoted } from './routing/last-visits.ts';
import type { EdgeLimits } from './limits.ts';
import { page, type PageKind } from './pages.ts';
import { redirectFor } from './routing/redirects.ts';
import { edgeHeaders } from './edge-headers.ts';
import type { ReadingTurns } from './client/reading-turns.ts';
import type { Table } from './routing/routing.ts';
import { sendReply } from './send-reply.ts';
import { answerFromFiles, locationOf, type FileAnswer } from './files/static-files.ts';
import type { EdgeEnvironment, Location, Route, Upstream } from './routing/table.ts';
import { Turns, type Shares } from './client/turns.ts';
import type { Visit } from './client/visit.ts';
import type { ChallengeAnswers } from './tls/challenges.ts';

export interface ServeOptions {
  table: Table;
  limits: EdgeLimits;
  readingTurns: ReadingTurns;
  routerName: string;
  onWake(cluster: string): void;
  onStderr(cluster: string, instance: string, text: string): void;
  /** Whether a route of type `proxy` may lead to this address. */
  mayProxyTo(address: string): boolean;
  challenges: ChallengeAnswers;
}

const requestShares: Shares = { alone: 16, amongOthers: 4 };

type UpstreamRoute = Extract<Route, { type: 'upstream' }>;
type ProxyRoute = Extract<Route, { type: 'proxy' }>;

export class Serving {
  readonly instances: Instances;
  readonly concurrency: ConcurrencyLimits;
  readonly hold: Hold;
  readonly visits: VisitsNoted;
  readonly #turns = new Turns(requestShares);
  readonly #options: ServeOptions;
  readonly #cache: EdgeCache;
  readonly #pagesAhead: PagesAhead = { bytes: 0 };

  constructor(options: ServeOptions) {
    const { table, limits, readingTurns, onWake } = options;
    this.#options = options;
    this.instances = new Instances(limits, readingTurns);
    this.concurrency = new ConcurrencyLimits(limits);
    this.visits = new VisitsNoted(table);
    this.#cache = openCache({ bytesMax: limits.cacheBytesMax });
    this.hold = new Hold({
      limits,
      find: (cluster) => table.get(cluster),
      onWake,
      goOn: (visit) => this.#guide(visit),
      onTooLong: (visit) => this.#show(visit, 'holding-too-long'),
    });
    table.onChange((cluster, environment) => {
      this.instances.onChange(cluster, environment);
      this.hold.onChange(cluster, environment);
      if (!environment) this.#cache.forget(cluster);
    });
  }

  serve(visit: Visit) {
    // OPTIONS * asks about the server as a whole, which has nothing to say.
    if (visit.path === '*') return this.#answer(visit, { status: 204, headers: [], body: undefined });
    const proof = this.#options.challenges.answer(visit);
    if (proof) return this.#answer(visit, proof);
    if (isMisdirected(visit)) return this.#show(visit, 'misdirected');
    const cluster = this.#options.table.find(visit.scheme, visit.host, visit.path)?.environment.cluster;
    if (cluster === undefined) return this.#show(visit, 'missing');
    if (!this.concurrency.enter(visit.address, cluster)) return this.#show(visit, 'too-busy');
    visit.countedFor = cluster;
    // A proxy's connection carries requests for several environments, so it counts for none of them; a WebSocket stays with one environment.
    if (!visit.connection.isTrusted || visit.upgrade !== undefined) visit.connection.belongTo(cluster);
    this.#guideInTurn(cluster, visit);
  }

  #guideInTurn(cluster: string, visit: Visit) {
    if (this.#turns.mayGo(cluster)) return this.#guide(visit);
    this.#turns.wait(cluster, () => {
      if (!visit.isOver) this.#guide(visit);
    });
  }

  /** A request that has waited starts again here: everything may have changed. */
  #guide(visit: Visit) {
    const found = this.#options.table.find(visit.scheme, visit.host, visit.path);
    visit.environment = found?.environment;
    visit.route = found?.route;
    if (!found) return this.#show(visit, 'missing');
    const { environment, route } = found;
    if (!mayEnter(environment.http_access, visit)) return this.#answer(visit, refusal(environment.http_access, visit));
    if (!route) return this.#show(visit, 'not-found');
    const redirect = redirectFor(route, visit);
    if (redirect) return this.#answer(visit, redirect);
    const { state } = environment;
    if (state === 'paused' || state === 'broken' || state === 'full') return this.#show(visit, state);
    this.#note(visit, environment);
    if (mustWait(environment)) return this.#wait(visit, environment);
    if (route.type === 'proxy') return this.#deliverElsewhere(visit, environment, route);
    if (route.type === 'upstream') return this.#serveUpstream(visit, environment, route);
    return this.#show(visit, 'not-found');
  }

  /** Notes each visit once, also one that has waited. */
  #note(visit: Visit, { cluster }: EdgeEnvironment) {
    if (visit.notedFor !== undefined) return;
    visit.notedFor = cluster;
    this.visits.begin(cluster);
  }

  #wait(visit: Visit, environment: EdgeEnvironment) {
    if (!this.hold.wait(visit, environment)) this.#show(visit, 'too-busy');
  }

  #serveUpstream(asked: Visit, environment: EdgeEnvironment, route: UpstreamRoute) {
    const visit = route.ssi ? this.#assembled(asked, environment) : asked;
    const upstream = environment.upstreams[route.upstream];
    if (!upstream) return this.#show(visit, 'unavailable');
    const location = locationOf(upstream, visit.path);
    const bodyBytesMax = bodyBytesMaxOf(location);
    if ((visit.body.length ?? 0) > bodyBytesMax) return this.#show(visit, 'too-large');
    const answer = answerFromFiles(upstream, visit);
    const goOn = (answered: FileAnswer) => this.#onFiles(visit, { environment, route, upstream, bodyBytesMax }, answered);
    if ('then' in answer) this.#whenReady(visit, answer, goOn, closeUnsent);
    else goOn(answer);
  }

  /** The visit whose reply may include others, which are served in turn like all that is asked of the environment. */
  #assembled(visit: Visit, { cluster }: EdgeEnvironment): Visit {
    if (visit.upgrade !== undefined || (visit instanceof InnerVisit && visit.isPage)) return visit;
    const { limits } = this.#options;
    return new PageAssembly(visit, { limits, ahead: this.#pagesAhead, serve: (part) => this.#guideInTurn(cluster, part) }).page;
  }

  #onFiles(visit: Visit, target: UpstreamTarget, answer: FileAnswer) {
    if (answer.kind === 'reply') return this.#answer(visit, answer.reply);
    if (answer.kind === 'pass' || answer.kind === 'script') return this.#lookUp(visit, target, answer);
    this.#show(visit, answer.kind);
  }

  #lookUp(visit: Visit, target: UpstreamTarget, answer: AppAnswer) {
    const lookup =
      visit.upgrade === undefined ? this.#cache.lookup(target.environment, target.route.cache, visit) : ({ kind: 'bypass' } as const);
    const goOn = (found: Lookup) => {
      if (found.kind === 'wait') return this.#whenReady(visit, found.outcome, goOn, abortStore);
      visit.cache = found.kind === 'hit' ? 'HIT' : found.kind === 'miss' ? 'MISS' : 'BYPASS';
      if (found.kind === 'hit') this.#answer(visit, found.reply);
      else this.#deliver(visit, target, answer, found.kind === 'miss' ? found.store : undefined);
    };
    goOn(lookup);
  }

  #deliver(visit: Visit, { environment, route, upstream, bodyBytesMax }: UpstreamTarget, answer: AppAnswer, store: Store | undefined) {
    const { limits, onStderr } = this.#options;
    const place = { authority: visit.authority, path: visit.path };
    const order: Order = {
      instances: this.instances.of(environment.cluster, upstream),
      isSticky: route.sticky,
      bodyBytesMax,
      store,
      limits,
      edgeHeaders: edgeHeaders(visit, environment, this.#options.routerName),
      openWriter: (sink) => httpRequestWriter(visit, place, sink, limits),
      onFailure: (failure, note, isUnsent) => this.#onFailure(visit, failure, note, isUnsent),
    };
    if (upstream.protocol === 'http') new Delivery(visit, order).start();
    else if (answer.kind === 'script')
      startScript(visit, order, answer, (text) => onStderr(environment.cluster, visit.instance ?? '', text));
    else {
      store?.abort();
      this.#show(visit, 'not-found');
    }
  }

  #deliverElsewhere(visit: Visit, environment: EdgeEnvironment, route: ProxyRoute) {
    const { limits, mayProxyTo, routerName } = this.#options;
    if (isLoop(visit.headers)) return this.#show(visit, 'loop');
    const target = proxyTargetOf(route, visit.path, mayProxyTo);
    if (!target) return this.#show(visit, 'unavailable');
    const { host, port, secure, authority, path } = target;
    new Delivery(visit, {
      instances: [this.instances.outside(environment.cluster, host, port, secure)],
      isSticky: false,
      bodyBytesMax: bodyBytesMaxOf(undefined),
      store: undefined,
      limits,
      edgeHeaders: edgeHeaders(visit, environment, routerName),
      openWriter: (sink) => httpRequestWriter(visit, { authority, path, moreLines: loopLine }, sink, limits),
      onFailure: (failure, note) => this.#onFailure(visit, failure, note, false),
    }).start();
  }

  /** Where no instance has seen the request and the table has changed since, the instances that are there now may answer it. */
  #onFailure(visit: Visit, failure: Failure, note: string, isUnsent: boolean) {
    const { environment } = visit;
    visit.note = note;
    const now = environment && this.#options.table.get(environment.cluster);
    if (isUnsent && environment && now && now.version > environment.version) return this.#guide(visit);
    this.#show(visit, failure === 'bad-reply' ? 'unavailable' : failure);
  }

  /** The client may leave before; then `drop` gets what nobody wants any more. */
  #whenReady<T>(visit: Visit, promised: Promise<T>, goOn: (value: T) => void, drop: (value: T) => void) {
    promised.then(
      (value) => (visit.isOver ? drop(value) : goOn(value)),
      (error: unknown) => {
        visit.note = error instanceof Error ? error.message : 'unknown';
        if (!visit.isOver) this.#show(visit, 'unavailable');
      },
    );
  }

  #show(visit: Visit, kind: PageKind) {
    this.#answer(visit, page(kind, visit));
  }

  #answer(visit: Visit, reply: Reply) {
    sendReply(visit, reply, edgeHeaders(visit, visit.environment, this.#options.routerName), this.#options.limits.idleSeconds);
  }
}

/** Who has named one host in the handshake may not ask for another: it was not that one's certificate, and not its rules, that let it in. */
const isMisdirected = ({ connection: { security }, host }: Visit) => security?.serverName !== undefined && security.serverName !== host;

interface UpstreamTarget {
  environment: EdgeEnvironment;
  route: UpstreamRoute;
  upstream: Upstream;
  bodyBytesMax: number;
}

type AppAnswer = Extract<FileAnswer, { kind: 'pass' | 'script' }>;

const closeUnsent = (answer: FileAnswer) => {
  if (answer.kind === 'reply' && typeof answer.reply.body === 'object' && 'file' in answer.reply.body) void answer.reply.body.file.close();
};
const abortStore = (lookup: Lookup) => {
  if (lookup.kind === 'miss') lookup.store?.abort();
};

const standardBodyBytesMax = 250 * 1024 * 1024;
const ofLocation = new WeakMap<Location, number>();

function bodyBytesMaxOf(location: Location | undefined): number {
  if (!location) return standardBodyBytesMax;
  const known = ofLocation.get(location);
  if (known !== undefined) return known;
  const bytes = sizeBytes(location.request_buffering.max_request_size) ?? standardBodyBytesMax;
  ofLocation.set(location, bytes);
  return bytes;
}
