/** The HTTP Event Collector of Splunk: objects one after the other, each with its own time and index. */
import { createHash } from 'node:crypto';
import { httpSink, toldOf, withUsualPath, type Reply } from './http-sink.ts';
import { commonFields, recordFields, type LogRecord, type RecordContext } from './log-record.ts';
import type { Answer, Concern, LogSink, SinkNetwork } from './log-sink.ts';

export interface SplunkSettings {
  type: 'splunk';
  url: string;
  index: string;
  token: string;
  sourcetype?: string;
  tls_verify: boolean;
}

const usualPath = '/services/collector/event';

export function splunk({ url, index, token, sourcetype, tls_verify }: SplunkSettings, network: SinkNetwork): LogSink {
  const headers = {
    authorization: `Splunk ${token}`,
    'content-type': 'application/json',
    // Asked for by collectors that acknowledge what was indexed; others ignore it.
    'x-splunk-request-channel': channelOf(url, index),
  };
  const eventOf = (record: LogRecord, context: RecordContext) => ({
    time: record.time / 1000,
    host: `${context.environment}.${context.project}`,
    source: `${record.service}/${record.log}`,
    ...(sourcetype !== undefined && { sourcetype }),
    index,
    event: record.message,
    fields: { ...recordFields(record), ...commonFields(context) },
  });
  return httpSink({
    network,
    tlsVerify: tls_verify,
    write: (records, context) => ({
      url: withUsualPath(url, usualPath),
      headers,
      body: records.map((record) => JSON.stringify(eventOf(record, context))).join('\n'),
    }),
    judge,
  });
}

/** The same for the same collector, in the form of a UUID. */
function channelOf(url: string, index: string): string {
  const hash = createHash('sha256').update(`${url} ${index}`).digest('hex');
  return [hash.slice(0, 8), hash.slice(8, 12), `4${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
}

/** Codes of replies with status 400 for what is wrong with the settings and not with the events: the index, the channel, acknowledgements that are off. */
const codesOfSettings: ReadonlyMap<unknown, Concern> = new Map([
  [7, 'index'],
  [10, 'address'],
  [11, 'address'],
  [14, 'address'],
]);

function judge(reply: Reply): Answer | undefined {
  const about = reply.status === 400 ? codesOfSettings.get(codeOf(reply.body)) : undefined;
  return about && { is: 'later', why: toldOf(reply), about };
}

function codeOf(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString('utf8')) as { code?: unknown } | null)?.code;
  } catch {
    return undefined;
  }
}
