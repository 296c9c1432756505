/** Every bound of the edge, with its unit last. */
export interface EdgeLimits {
  /** All headers of a request, names and values. */
  headerBytesMax: number;
  headerLinesMax: number;
  /** From the first byte of a request, or from the start of a connection, to the end of the head. */
  headSeconds: number;
  /** From the start of a connection to the end of the handshake of TLS. */
  handshakeSeconds: number;
  /** A body of which nothing arrives for this long is given up. */
  bodyIdleSeconds: number;
  keepAliveSeconds: number;
  requestsPerConnectionMax: number;

  connectSeconds: number;
  /** From the request to the head of the reply. */
  firstByteSeconds: number;
  /** How long neither side may move a byte; holds for connections that were taken over, too. */
  idleSeconds: number;
  /** The same for the platform itself: whoever follows a log there waits for as long as nothing happens. The platform ends what has lasted long enough. */
  platformIdleSeconds: number;
  /** The whole exchange, except connections that were taken over and replies that keep flowing. */
  totalSeconds: number;
  replyHeadBytesMax: number;
  replyHeaderLinesMax: number;
  /** Connections that are kept open to one instance while nothing is asked. */
  idleConnectionsPerInstanceMax: number;
  /** Shorter than the time after which servers usually close idle connections. */
  idleConnectionSeconds: number;
  /** After so long a connection is used no more, so that a program that serves one connection at a time also gets to those of other processes. */
  connectionSeconds: number;

  heldRequestsPerEnvironmentMax: number;
  heldRequestsMax: number;
  /** The memory that held requests may take in all: their heads, and what is read of bodies that nobody takes yet. */
  heldBytesMax: number;
  heldSeconds: number;

  connectionsMax: number;
  connectionsPerAddressMax: number;
  requestsPerAddressMax: number;
  requestsPerEnvironmentMax: number;
  cacheBytesMax: number;

  /** What pages of routes with `ssi` may include: for one request, however deep. */
  includesPerRequestMax: number;
  includedBytesMax: number;
  includeDepthMax: number;
  /** What is read of pages while what they include is fetched: of one page, and of all. */
  pageAheadBytesMax: number;
  pagesAheadBytesMax: number;
}

export const standardLimits: EdgeLimits = {
  headerBytesMax: 32 * 1024,
  headerLinesMax: 100,
  headSeconds: 15,
  handshakeSeconds: 10,
  bodyIdleSeconds: 60,
  keepAliveSeconds: 75,
  requestsPerConnectionMax: 100_000,

  connectSeconds: 5,
  firstByteSeconds: 300,
  idleSeconds: 600,
  platformIdleSeconds: 5 * 3600,
  totalSeconds: 3600,
  replyHeadBytesMax: 64 * 1024,
  replyHeaderLinesMax: 200,
  idleConnectionsPerInstanceMax: 64,
  idleConnectionSeconds: 4,
  connectionSeconds: 1,

  heldRequestsPerEnvironmentMax: 1000,
  heldRequestsMax: 10_000,
  heldBytesMax: 64 * 1024 * 1024,
  heldSeconds: 120,

  connectionsMax: 20_000,
  connectionsPerAddressMax: 1000,
  requestsPerAddressMax: 500,
  requestsPerEnvironmentMax: 2000,
  cacheBytesMax: 128 * 1024 * 1024,

  includesPerRequestMax: 200,
  includedBytesMax: 32 * 1024 * 1024,
  includeDepthMax: 8,
  pageAheadBytesMax: 256 * 1024,
  pagesAheadBytesMax: 32 * 1024 * 1024,
};
