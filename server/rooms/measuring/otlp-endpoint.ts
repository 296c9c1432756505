/**
 * `POST /v1/traces`, as OTLP over HTTP has it, on a port of its own that containers reach and nobody else: whoever connects to another address of the machine is
 * shown out. Who asks is known before a byte of the body is read. Bodies are bounded, also once they are inflated, and so is what all of them take together; what is
 * decoded is decoded in small pieces, so that others of this process have their turn in between.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeJson } from '../../drivers/otlp/decode-json.ts';
import { decodeProtobuf } from '../../drivers/otlp/decode-protobuf.ts';
import { type Encoding, acceptance, encodings, mediaTypes, refusal } from '../../drivers/otlp/reply.ts';
import type { Reporter } from '../../drivers/otlp/reporter.ts';
import { Malformed, type SpanGroup } from '../../drivers/otlp/span.ts';
import { limit } from '../../kernel/limits.ts';
import type { Log } from '../../kernel/log.ts';
import { inflate, openBytesUnderWay, readBody } from './otlp-body.ts';
import { Refused, refusals } from './otlp-refusals.ts';
import type { Reporters } from './otlp-reporters.ts';

/** Makes records of what was decoded. */
export interface SpanIntake {
  /** False: the reporter's environment has reported too much lately. */
  hasRoom(reporter: Reporter): boolean;
  /** Answers how many spans were not taken, and why. */
  take(groups: readonly SpanGroup[], reporter: Reporter): Rejected;
}

export interface Rejected {
  spans: number;
  sentence: string;
}

export interface OtlpEndpointParts {
  reporters: Reporters;
  intake: SpanIntake;
  log: Pick<Log, 'error'>;
}

export const otlpBounds = {
  /** As sent, and inflated. */
  bodyBytes: 4 * 2 ** 20,
  inflatedBytes: 8 * 2 ** 20,
  /** Of bodies that are under way: all, and those of one environment. */
  bytesInAll: 32 * 2 ** 20,
  bytesOfOne: 8 * 2 ** 20,
  /** How many bodies are inflated, decoded and made records of at a time. */
  atOnce: 4,
  spans: 10_000,
  /** All, and those of one container. */
  connections: 10_000,
  connectionsOfOne: 500,
  requestSeconds: 30,
  /** Exporters send every five seconds or so, by default on the same connection. */
  keptOpenSeconds: 65,
};

export function otlpEndpoint(parts: OtlpEndpointParts, bounds = otlpBounds): Server {
  const underWay = openBytesUnderWay(bounds);
  const working = limit(bounds.atOnce);
  const server = createServer({ requestTimeout: bounds.requestSeconds * 1000, headersTimeout: 10_000, maxHeaderSize: 16 * 1024 });
  server.maxConnections = bounds.connections;
  server.keepAliveTimeout = bounds.keptOpenSeconds * 1000;
  const connections = new Map<string, number>();
  server.on('connection', (socket) => {
    if (!isFromContainers(socket) || !isAdmitted(socket, connections, bounds.connectionsOfOne)) socket.destroy();
  });
  server.on('request', (request, response) => {
    void answer(request, response).catch((error: unknown) => {
      parts.log.error({ error }, 'traces could not be taken');
      refuse(request, response, encodingOf(request) ?? 'json', new Refused('failed', 'The platform could not take this; try again.'));
    });
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const encoding = encodingOf(request) ?? 'json';
    const held = { bytes: 0, environment: '' };
    try {
      const reporter = await admitted(request, parts);
      held.environment = `${reporter.project} ${reporter.environment}`;
      const body = await readBody(request, bounds.bodyBytes, (bytes) => underWay.hold(held, bytes));
      const { spans, sentence } = await working(async () => {
        const whole = isCompressed(request) ? await inflate(body, bounds.inflatedBytes) : body;
        const decoded = await decode(encoding, whole, bounds.spans);
        return together(parts.intake.take(decoded.groups, reporter), decoded.rejected);
      });
      reply(response, 200, encoding, acceptance(encoding, spans, sentence));
    } catch (error) {
      if (error instanceof Malformed) refuse(request, response, encoding, new Refused('malformed', error.message));
      else if (error instanceof Refused) refuse(request, response, encoding, error);
      else if (!request.complete) response.destroy();
      else throw error;
    } finally {
      underWay.release(held);
    }
  };
  return server;
}

/** The addresses of containers' networks, and this machine to itself. */
const within = new BlockList();
within.addSubnet('100.64.0.0', 10);
within.addSubnet('127.0.0.0', 8);
const isFromContainers = ({ localAddress = '' }: Socket) => within.check(localAddress.replace(/^::ffff:/, ''));

/** Counts the connection until it is closed. */
function isAdmitted(socket: Socket, connections: Map<string, number>, most: number): boolean {
  const { remoteAddress = '' } = socket;
  const count = (more: number) => {
    const now = (connections.get(remoteAddress) ?? 0) + more;
    if (now === 0) connections.delete(remoteAddress);
    else connections.set(remoteAddress, now);
    return now;
  };
  socket.once('close', () => count(-1));
  return count(1) <= most;
}

const encodingOf = ({ headers }: IncomingMessage): Encoding | undefined => {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return Object.hasOwn(encodings, type) ? encodings[type as keyof typeof encodings] : undefined;
};

const compressionOf = ({ headers }: IncomingMessage) => headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
const isCompressed = (request: IncomingMessage) => compressionOf(request) === 'gzip';

/** Everything that can be said without the body. */
async function admitted(request: IncomingMessage, { reporters, intake }: OtlpEndpointParts): Promise<Reporter> {
  const path = request.url?.split('?', 1)[0];
  if (path !== '/v1/traces')
    throw new Refused('unknown', 'Only traces are taken, at /v1/traces. Set OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER to none.');
  if (request.method !== 'POST') throw new Refused('method', 'Send traces with POST.');
  const reporter = await reporters.reporterOf(request.headers.authorization);
  if (!reporter)
    throw new Refused(
      'unauthenticated',
      'The token of this environment is expected, as OTEL_EXPORTER_OTLP_HEADERS has it in its containers.',
    );
  if (!encodingOf(request)) throw new Refused('mediaType', `Send ${Object.keys(encodings).join(' or ')}.`);
  if (!['gzip', 'identity', ''].includes(compressionOf(request)))
    throw new Refused('mediaType', 'Send the body as it is, or with Content-Encoding: gzip.');
  if (!intake.hasRoom(reporter)) throw new Refused('tooMany', 'The environment reports more spans than are taken; sample them.');
  return reporter;
}

async function decode(encoding: Encoding, body: Buffer, spansMax: number) {
  const { groups, refused } = encoding === 'json' ? decodeJson(body) : decodeProtobuf(body);
  const kept: SpanGroup[] = [];
  let [spans, tooMany] = [0, 0];
  for (const group of groups) {
    if (spans + group.spans.length > spansMax) tooMany += group.spans.length;
    else {
      kept.push(group);
      spans += group.spans.length;
    }
    await nextTurn();
  }
  const sentences = [
    refused.spans > 0 ? 'Spans need a trace id and a span id.' : '',
    tooMany > 0 ? `A request can have ${spansMax} spans at most.` : '',
  ];
  return { groups: kept, rejected: { spans: refused.spans + tooMany, sentence: sentences.filter(Boolean).join(' ') } };
}

const together = (one: Rejected, other: Rejected): Rejected => ({
  spans: one.spans + other.spans,
  sentence: [one.sentence, other.sentence].filter(Boolean).join(' '),
});

function reply(response: ServerResponse, status: number, encoding: Encoding, body: Buffer) {
  response.writeHead(status, { 'content-type': mediaTypes[encoding], 'content-length': body.length });
  response.end(body);
}

/** A body that was not read to its end is not waited for. */
function refuse(request: IncomingMessage, response: ServerResponse, encoding: Encoding, { kind, message }: Refused) {
  const { status, code } = refusals[kind];
  if (response.headersSent) return;
  if (!request.complete) response.setHeader('connection', 'close');
  if (status === 429 || status === 503) response.setHeader('retry-after', '1');
  if (status === 405) response.setHeader('allow', 'POST');
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  reply(response, status, encoding, refusal(encoding, code, message));
}
