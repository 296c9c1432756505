/** Logs over OTLP/HTTP, in protobuf, which every receiver takes. Each service is a resource of its own, so that the lines of one stay in their order. */
import type { LogName } from '../logs/log-folders.ts';
import { wireTypes, WireReader } from '../otlp/wire-reader.ts';
import { httpSink, withUsualPath, type Reply } from './http-sink.ts';
import { levelOf, type Level, type LogRecord, type RecordContext } from './log-record.ts';
import type { Answer, LogSink, SinkNetwork } from './log-sink.ts';
import { messageField, numberField, textField, timeField } from './protobuf-writer.ts';

export interface OtlplogSettings {
  type: 'otlplog';
  url: string;
  headers?: Readonly<Record<string, string>>;
  tls_verify: boolean;
}

const usualPath = '/v1/logs';
const scopeName = 'offshoot';

export const otlplog = ({ url, headers = {}, tls_verify }: OtlplogSettings, network: SinkNetwork): LogSink =>
  httpSink({
    network,
    tlsVerify: tls_verify,
    write: (records, context) => ({
      url: withUsualPath(url, usualPath),
      headers: { ...headers, 'content-type': 'application/x-protobuf' },
      body: exportRequest(records, context),
    }),
    judge,
  });

/** ExportLogsServiceRequest. */
function exportRequest(records: readonly LogRecord[], context: RecordContext): Buffer {
  const byService = Map.groupBy(records, ({ service }) => service);
  return Buffer.concat([...byService].map(([service, own]) => messageField(1, resourceLogs(service, own, context))));
}

function resourceLogs(service: string, records: readonly LogRecord[], { project, environment, extra }: RecordContext): Buffer[] {
  const attributes = { 'service.name': service, 'service.namespace': project, 'deployment.environment.name': environment, ...extra };
  const resource = Object.entries(attributes).map(([name, value]) => attributeField(1, name, value));
  const scope = messageField(1, [textField(1, scopeName)]);
  return [messageField(1, resource), messageField(2, [scope, ...records.map(recordField)])];
}

const attributeField = (field: number, name: string, value: string) =>
  messageField(field, [textField(1, name), messageField(2, [textField(1, value)])]);

/** As OTLP numbers them. */
const severities: Readonly<Record<Level, number>> = { info: 9, error: 17 };
/** The end of each record: how serious it is and which log it is of. */
const ends = new Map<LogName, Buffer>();

function endOf(log: LogName): Buffer {
  const known = ends.get(log);
  if (known) return known;
  const level = levelOf[log];
  const end = Buffer.concat([
    numberField(2, severities[level]),
    textField(3, level.toUpperCase()),
    attributeField(6, 'log.file.name', `${log}.log`),
  ]);
  ends.set(log, end);
  return end;
}

const recordField = ({ time, log, message }: LogRecord) =>
  messageField(2, [timeField(1, time), timeField(11, time), messageField(5, [textField(1, message)]), endOf(log)]);

/** A receiver that takes a part of a batch must not be sent the rest again; it says how many records it did not want, and why. */
function judge({ status, body }: Reply): Answer | undefined {
  if (status !== 200) return undefined;
  try {
    return partialSuccess(new WireReader(body));
  } catch {
    // Some receivers answer in another format, or with a page.
    return undefined;
  }
}

function partialSuccess(response: WireReader): Answer | undefined {
  while (response.next()) {
    if (!response.is(1, wireTypes.bytes)) {
      response.skip();
      continue;
    }
    let [refused, why] = [0, ''];
    for (const partial = response.message(); partial.next();) {
      if (partial.is(1, wireTypes.varint)) refused = partial.varint();
      else if (partial.is(2, wireTypes.bytes)) why = partial.text();
      else partial.skip();
    }
    return refused > 0 ? { is: 'taken', refused, why: `The sink took a part: ${why}` } : undefined;
  }
  return undefined;
}
