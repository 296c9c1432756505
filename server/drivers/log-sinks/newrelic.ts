/** The Log API of New Relic: what all lines of a batch have in common is said once. */
import { httpSink, withUsualPath } from './http-sink.ts';
import { commonFields, recordFields } from './log-record.ts';
import type { LogSink, SinkNetwork } from './log-sink.ts';

export interface NewrelicSettings {
  type: 'newrelic';
  url: string;
  license_key: string;
  tls_verify: boolean;
}

const usualPath = '/log/v1';

export const newrelic = ({ url, license_key, tls_verify }: NewrelicSettings, network: SinkNetwork): LogSink =>
  httpSink({
    network,
    tlsVerify: tls_verify,
    write: (records, context) => ({
      url: withUsualPath(url, usualPath),
      headers: { 'api-key': license_key, 'content-type': 'application/json' },
      body: JSON.stringify([
        {
          common: { attributes: commonFields(context) },
          logs: records.map((record) => ({ timestamp: record.time, message: record.message, attributes: recordFields(record) })),
        },
      ]),
    }),
  });
