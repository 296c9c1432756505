/**
 * Programs that answer, and the connections kept to them. An instance that the table names again, at the same address, stays the same one: its
 * connections and the count of what it works on go on. One that the table no longer names is let finish, and its connections are closed.
 */
import { hash as hashOf } from 'node:crypto';
import type { EdgeLimits } from '../limits.ts';
import type { ReadingTurns } from '../client/reading-turns.ts';
import type { EdgeEnvironment, Instance, Upstream } from '../routing/table.ts';
import { UpstreamConnection, type ConnectionKeeper, type Secure } from './upstream-connection.ts';

/** An instance that refused a connection is asked last for so long. */
const shunnedMs = 1000;
const markCharacters = 16;
/** A connection on which nothing was heard for so long may still wait to be accepted. */
const acceptMs = 100;

export class RunningInstance implements ConnectionKeeper {
  readonly id: string;
  readonly cluster: string;
  readonly address: Instance['address'];
  readonly secure: Secure | undefined;
  readonly #limits: EdgeLimits;
  readonly #readingTurns: ReadingTurns;
  outstanding = 0;
  isGone = false;
  /** In milliseconds of the monotonic clock. */
  shunnedUntil = 0;
  #idle: UpstreamConnection[] = [];
  /** Opened, and nothing was heard on them or on a later one: perhaps nobody has accepted them. The oldest first. */
  #unheard: UpstreamConnection[] = [];
  #onceDrained: (() => void)[] = [];
  #mark: string | undefined;

  constructor(cluster: string, { id, address }: Instance, limits: EdgeLimits, readingTurns: ReadingTurns, secure?: Secure) {
    this.id = id;
    this.cluster = cluster;
    this.#readingTurns = readingTurns;
    this.address = address;
    this.secure = secure;
    this.#limits = limits;
  }

  /** The name that clients know the instance by. */
  get mark() {
    return (this.#mark ??= hashOf('sha256', this.id, 'base64url').slice(0, markCharacters));
  }

  /** The one used last is the least likely to be closed at the other end. */
  takeIdle(idleMsMax: number): UpstreamConnection | undefined {
    const now = performance.now();
    if (this.#keepsOthersWaiting(now)) this.#closeIdle();
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isUsable(now, idleMsMax)) return connection;
      connection.destroy();
    }
    return undefined;
  }

  connect() {
    const connection = new UpstreamConnection(this, this.#limits, this.#readingTurns);
    this.#unheard.push(connection);
    return connection;
  }

  /** Connections are accepted in order, so those before it have been accepted too. */
  heard(connection: UpstreamConnection) {
    const index = this.#unheard.indexOf(connection);
    if (index !== -1) this.#unheard.splice(0, index + 1);
  }

  /**
   * A program that serves one connection at a time, or a few, accepts no other while those are used again and again. So while a connection may wait
   * to be accepted, none is used again: later requests open connections of their own, behind the one that waits.
   */
  #keepsOthersWaiting(now: number): boolean {
    const [oldest] = this.#unheard;
    return oldest !== undefined && now - oldest.openedAt > acceptMs;
  }

  putIdle(connection: UpstreamConnection) {
    if (this.isGone || this.#keepsOthersWaiting(performance.now()) || this.#idle.length >= this.#limits.idleConnectionsPerInstanceMax)
      connection.destroy();
    else this.#idle.push(connection);
  }

  forget(connection: UpstreamConnection) {
    for (const connections of [this.#idle, this.#unheard]) {
      const index = connections.indexOf(connection);
      if (index !== -1) connections.splice(index, 1);
    }
  }

  #closeIdle() {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  leave() {
    this.outstanding--;
    if (this.outstanding > 0) return;
    for (const drained of this.#onceDrained.splice(0)) drained();
  }

  shun(now: number) {
    this.shunnedUntil = now + shunnedMs;
  }

  /** Tells how many were left when time was up. */
  drained(secondsMax: number): Promise<number> {
    if (this.outstanding === 0) return Promise.resolve(0);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(this.outstanding), secondsMax * 1000);
      this.#onceDrained.push(() => {
        clearTimeout(timer);
        resolve(0);
      });
    });
  }

  tick(now: number) {
    if (this.#idle.length === 0) return;
    if (this.#keepsOthersWaiting(now)) return this.#closeIdle();
    const kept = this.#idle.filter((connection) => connection.isUsable(now, Infinity));
    const expired = this.#idle.filter((connection) => !kept.includes(connection));
    this.#idle = kept;
    for (const connection of expired) connection.destroy();
  }

  retire() {
    this.isGone = true;
    this.#closeIdle();
  }
}

export class Instances {
  readonly #limits: EdgeLimits;
  readonly #readingTurns: ReadingTurns;
  /** By cluster, then by id. */
  readonly #running = new Map<string, Map<string, RunningInstance>>();
  readonly #ofUpstream = new WeakMap<Upstream, RunningInstance[]>();

  constructor(limits: EdgeLimits, readingTurns: ReadingTurns) {
    this.#limits = limits;
    this.#readingTurns = readingTurns;
  }

  of(cluster: string, upstream: Upstream): RunningInstance[] {
    const known = this.#ofUpstream.get(upstream);
    if (known) return known;
    const instances = upstream.instances.map((instance) => this.#ensure(cluster, instance));
    this.#ofUpstream.set(upstream, instances);
    return instances;
  }

  /** Outside the platform, where a route of type `proxy` leads. */
  outside(cluster: string, host: string, port: number, secure: Secure | undefined): RunningInstance {
    return this.#ensure(cluster, { id: `${secure?.isTls ? 'https' : 'http'}://${host}:${port}`, address: { host, port } }, secure);
  }

  onChange(cluster: string, environment: EdgeEnvironment | undefined) {
    const running = this.#running.get(cluster);
    if (!running) return;
    const named = Object.values(environment?.upstreams ?? {}).flatMap(({ instances }) => instances);
    for (const [id, instance] of running) {
      if (named.some((other) => other.id === id && isSameAddress(other.address, instance.address))) continue;
      instance.retire();
      if (instance.outstanding === 0) running.delete(id);
    }
    if (running.size === 0) this.#running.delete(cluster);
  }

  find(cluster: string, id: string): RunningInstance | undefined {
    return this.#running.get(cluster)?.get(id);
  }

  tick(now: number) {
    for (const running of this.#running.values()) for (const instance of running.values()) instance.tick(now);
  }

  close() {
    for (const running of this.#running.values()) for (const instance of running.values()) instance.retire();
  }

  #ensure(cluster: string, instance: Instance, secure?: Secure): RunningInstance {
    const running = this.#running.get(cluster) ?? new Map<string, RunningInstance>();
    this.#running.set(cluster, running);
    const known = running.get(instance.id);
    if (known && !known.isGone && isSameAddress(known.address, instance.address)) return known;
    const fresh = new RunningInstance(cluster, instance, this.#limits, this.#readingTurns, secure);
    running.set(instance.id, fresh);
    return fresh;
  }
}

const isSameAddress = (a: Instance['address'], b: Instance['address']) =>
  'socket' in a ? 'socket' in b && a.socket === b.socket : 'host' in b && a.host === b.host && a.port === b.port;
