/** The edge without its process: give it a table and sockets, and it serves. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { standardLimits, type EdgeLimits } from './limits.ts';
import { Clients } from './client/listener.ts';
import type { LastVisits } from './routing/last-visits.ts';
import { isPublicAddress } from './upstream/public-address.ts';
import { ReadingTurns } from './client/reading-turns.ts';
import type { RequestRecord } from './logs/request-record.ts';
import type { Table } from './routing/routing.ts';
import { Serving } from './serve.ts';
import { openCertificates, type Certificates } from './tls/certificates.ts';
import { ChallengeAnswers } from './tls/challenges.ts';

export interface EdgeOptions {
  table: Table;
  /** Once for each request, when it has ended. */
  onRecord(record: RequestRecord): void;
  /** A request came to an environment that sleeps; once until its table entry changes. */
  onWake(cluster: string): void;
  /** What an instance said beside its replies (STDERR of FastCGI). */
  onStderr?(cluster: string, instance: string, text: string): void;
  /** Addresses or ranges (`10.0.0.0/8`) whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  /** Value of `X-Platform-Router`. */
  routerName: string;
  /** Where routes of type `proxy` may lead; public addresses, unless told otherwise. */
  mayProxyTo?(address: string): boolean;
  limits?: Partial<EdgeLimits>;
  /** Absent: it has no certificates, and answers nobody over TLS. */
  tls?: EdgeTls;
}

export interface EdgeTls {
  certificates: Certificates;
  challenges: ChallengeAnswers;
  /** Which the keys of session tickets come from. */
  ticketSecret: Buffer;
}

export interface Edge {
  /** For plain HTTP: `server.listen(...)` with a port, a handle or a descriptor. */
  server: Server;
  /** The seam for TLS: a connection that somebody else accepted, and what its requests are to be called. */
  accept(socket: Socket, scheme: 'http' | 'https'): void;
  /** A connection whose client begins with a handshake of TLS. */
  acceptSecure(socket: Socket): void;
  /** Ends when nothing is outstanding at that instance, or after `secondsMax`; tells how many requests were left. */
  drain(cluster: string, instance: string, secondsMax: number): Promise<number>;
  /** Accepts no more, lets running requests finish, closes connections that wait for none; after `secondsMax` the rest too. */
  close(secondsMax: number): Promise<void>;
  /** Requests under way. */
  outstanding(): number;
  /** When environments were last visited. */
  visits(): LastVisits;
  /** Clusters for which requests wait. */
  awaited(): string[];
}

/** All time limits are kept to within this. */
const tickMs = 250;
/** A client that has just sent its next request on a kept connection is still answered. */
const lastRequestSeconds = 1;
const closingLooksMs = 50;

export function openEdge({
  table,
  onRecord,
  onWake,
  onStderr,
  trustedProxies,
  routerName,
  mayProxyTo,
  limits: some,
  tls = noTls(),
}: EdgeOptions): Edge {
  const limits = { ...standardLimits, ...some };
  const readingTurns = new ReadingTurns();
  const serving = new Serving({
    table,
    limits,
    readingTurns,
    routerName,
    onWake,
    onStderr: onStderr ?? (() => {}),
    mayProxyTo: mayProxyTo ?? isPublicAddress,
    challenges: tls.challenges,
  });
  const clients = new Clients({
    limits,
    readingTurns,
    trustedProxies,
    tls: { ...tls, securityOf: (host) => table.securityOf(host) },
    serve: (visit) => serving.serve(visit),
    onRecord(visit, record) {
      if (visit.countedFor !== undefined) serving.concurrency.leave(visit.address, visit.countedFor);
      if (visit.notedFor !== undefined) serving.visits.end(visit.notedFor);
      onRecord(record);
    },
  });
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => clients.accept(socket, 'http'));
  const clock = setInterval(() => {
    const now = performance.now();
    clients.tick(now);
    serving.hold.tick(now);
    serving.instances.tick(now);
  }, tickMs);
  clock.unref();

  return {
    server,
    accept: (socket, scheme) => clients.accept(socket, scheme),
    acceptSecure: (socket) => clients.acceptSecure(socket),
    drain: (cluster, instance, secondsMax) => serving.instances.find(cluster, instance)?.drained(secondsMax) ?? Promise.resolve(0),
    outstanding: () => serving.concurrency.requests,
    visits: () => serving.visits.told(),
    awaited: () => serving.hold.clusters,
    async close(secondsMax) {
      const end = performance.now() + secondsMax * 1000;
      if (server.listening) server.close();
      clients.isClosing = true;
      // The wait is made of short ones: on a machine that stood still for a second, nobody had the time to send anything.
      for (let waited = 0; waited < Math.min(lastRequestSeconds, secondsMax) * 1000; waited += closingLooksMs) await sleep(closingLooksMs);
      while (clients.connections > 0 && performance.now() < end) {
        clients.closeIdle();
        await sleep(closingLooksMs);
      }
      clearInterval(clock);
      clients.destroyAll();
      serving.instances.close();
    },
  };
}

const noTls = (): EdgeTls => ({ certificates: openCertificates(), challenges: new ChallengeAnswers(), ticketSecret: randomBytes(32) });
