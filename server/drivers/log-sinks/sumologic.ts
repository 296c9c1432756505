/** An HTTP source of Sumo Logic: a line of JSON for each record; what belongs to the whole batch is told by headers. The address of the source is its only secret. */
import { httpSink } from './http-sink.ts';
import { wholeRecord, type RecordContext } from './log-record.ts';
import type { LogSink, SinkNetwork } from './log-sink.ts';

export interface SumologicSettings {
  type: 'sumologic';
  url: string;
  category?: string;
  tls_verify: boolean;
}

export const sumologic = ({ url, category, tls_verify }: SumologicSettings, network: SinkNetwork): LogSink =>
  httpSink({
    network,
    tlsVerify: tls_verify,
    write: (records, context) => ({
      url,
      headers: {
        'content-type': 'application/json',
        ...metadata(context),
        ...(category !== undefined && { 'x-sumo-category': headerText(category) }),
      },
      body: records.map((record) => JSON.stringify(wholeRecord(record, context))).join('\n'),
    }),
  });

const metadata = ({ project, environment }: RecordContext) => ({
  'x-sumo-name': headerText(`${project}/${environment}`),
  'x-sumo-host': headerText(`${environment}.${project}`),
});

/** Headers carry no other characters. */
const headerText = (text: string) => text.replace(/[^\x20-\x7e]/g, '?');
