/** A line of a log on its way to a sink, and what every sink says of it under the same names. */
import type { LogName } from '../logs/log-folders.ts';

export interface LogRecord {
  /** Milliseconds since 1970. */
  time: number;
  /** The app or worker whose log it is; `@edge` for requests that led to none. */
  service: string;
  log: LogName;
  /** The line without its end. */
  message: string;
}

/** Of the lines alone, without what is said of each and however they go over the wire. */
export const bytesOf = (records: readonly LogRecord[]): number => records.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0);

export type Level = 'info' | 'error';

/** Programs do not say how serious a line is. What the edge and the platform write down because something failed is an error. */
export const levelOf: Readonly<Record<LogName, Level>> = {
  access: 'info',
  app: 'info',
  cron: 'info',
  deploy: 'info',
  error: 'error',
  failed_start: 'error',
  mail: 'info',
  post_deploy: 'info',
  sanitize: 'info',
};

/** Where records come from, and what their owner wants said of each. */
export interface RecordContext {
  project: string;
  environment: string;
  extra: Readonly<Record<string, string>>;
}

/** What is the same for all records of an environment. The owner's own fields win. */
export const commonFields = ({ project, environment, extra }: RecordContext): Record<string, string> => ({
  project,
  environment,
  ...extra,
});

/** What differs between records, but for their time and message. */
export const recordFields = ({ service, log }: LogRecord) => ({ service, log, level: levelOf[log] });

/** Everything in one object, for sinks that take any JSON. The time and the message are ours, whatever the owner's fields are called. */
export const wholeRecord = (record: LogRecord, context: RecordContext): Record<string, string> => ({
  ...recordFields(record),
  ...commonFields(context),
  timestamp: new Date(record.time).toISOString(),
  message: record.message,
});
