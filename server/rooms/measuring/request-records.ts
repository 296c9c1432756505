/** What is stored of a request that the edge has answered: pure functions of what the edge told. */
import type { RecordedRequest } from '../../drivers/edge/edge.ts';
import type { RequestRecord, Scope, TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { Program } from './served-apps.ts';
import { transactionNameOf } from './transaction-name.ts';

/** The edge knows environments as `<project>-<machine name>`; ids of projects have no dash. */
export function scopeOf(cluster: string): Scope {
  const dash = cluster.indexOf('-');
  return { project: cluster.slice(0, dash), environment: cluster.slice(dash + 1) };
}

/** Containers of instances end with their number, the app's being theirs: `<stack>-app-<app>-<deployment>-<number>`. */
const instanceNumber = /-(\d+)$/;

/** `<app>.<number>`, which is also what the instance calls itself; empty where none was asked. */
export function instanceOf({ application, instance }: Pick<RecordedRequest, 'application' | 'instance'>): string {
  const number = instanceNumber.exec(instance)?.[1];
  return number === undefined ? instance : `${application}.${number}`;
}

export const requestRecordOf = (request: RecordedRequest): RequestRecord => ({
  ...scopeOf(request.cluster),
  time: request.at,
  application: request.application,
  instance: instanceOf(request),
  domain: request.host,
  method: request.method,
  url: request.url,
  ip: request.address,
  userAgent: request.userAgent,
  status: request.status,
  wallTime: request.microseconds,
  requestBytes: request.bytesIn,
  responseBytes: request.bytesOut,
  isFromCache: request.isFromCache,
});

/** What an instance was asked for is a transaction of its app; what the edge answers from its cache, with a file or with a redirect is none. */
export const isTransaction = ({ application, instance }: RecordedRequest) => application !== '' && instance !== '';

/** How much memory it took, and with what framework, only the app could say. */
export function transactionOf(request: RecordedRequest, program: Program): TransactionRecord {
  const instance = instanceOf(request);
  return {
    ...scopeOf(request.cluster),
    time: request.at,
    context: 'web',
    transaction: transactionNameOf(request.url),
    application: request.application,
    instance,
    status: request.status,
    httpHost: request.host,
    host: instance,
    framework: '',
    ...program,
    method: request.method.toLowerCase(),
    wallTime: request.microseconds,
    peakMemory: 0,
    output: request.bytesOut,
  };
}
