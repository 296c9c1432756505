/** Every kind of sink, by the type of its integration. */
import { httplog, type HttplogSettings } from './httplog.ts';
import type { LogSink, SinkNetwork } from './log-sink.ts';
import { newrelic, type NewrelicSettings } from './newrelic.ts';
import { otlplog, type OtlplogSettings } from './otlplog.ts';
import { splunk, type SplunkSettings } from './splunk.ts';
import { sumologic, type SumologicSettings } from './sumologic.ts';
import { syslog, type SyslogSettings } from './syslog.ts';

/** The settings are those of the integration, with its secrets opened and what it left out filled in. */
export type SinkSettings = HttplogSettings | NewrelicSettings | OtlplogSettings | SplunkSettings | SumologicSettings | SyslogSettings;
export type SinkType = SinkSettings['type'];

type Sinks = { [Type in SinkType]: (settings: Extract<SinkSettings, { type: Type }>, network: SinkNetwork) => LogSink };

const sinks: Sinks = { httplog, newrelic, otlplog, splunk, sumologic, syslog };

export const sinkTypes = Object.keys(sinks) as SinkType[];

export const openSink = <Type extends SinkType>(settings: Extract<SinkSettings, { type: Type }>, network: SinkNetwork): LogSink =>
  sinks[settings.type](settings, network);
