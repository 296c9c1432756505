/** Logs as JSON to any address: a list of flat objects, as Fluent Bit, Vector and Datadog take them. */
import { httpSink } from './http-sink.ts';
import { wholeRecord } from './log-record.ts';
import type { LogSink, SinkNetwork } from './log-sink.ts';

export interface HttplogSettings {
  type: 'httplog';
  url: string;
  headers?: Readonly<Record<string, string>>;
  tls_verify: boolean;
}

export const httplog = ({ url, headers = {}, tls_verify }: HttplogSettings, network: SinkNetwork): LogSink =>
  httpSink({
    network,
    tlsVerify: tls_verify,
    write: (records, context) => ({
      url,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(records.map((record) => wholeRecord(record, context))),
    }),
  });
