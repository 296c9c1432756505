/** Whether a sink takes logs, found out by sending it a line that says so. What is wrong is told under the field that has to change. */
import type { SinkType } from '../../../drivers/log-sinks/open-sink.ts';
import type { Answer, Concern } from '../../../drivers/log-sinks/log-sink.ts';
import { invalidField } from '../../../kernel/problem.ts';
import type { Platform } from '../../../platform.ts';
import type { Integration } from '../integration.ts';
import { isSinkType, sinkOf } from './wanted-forwardings.ts';

const ofAddress = { address: 'url', certificate: 'tls_verify' };

/** Which field an answer is about. */
const fieldOf: Readonly<Record<SinkType, Readonly<Record<'address' | 'certificate', string> & Partial<Record<Concern, string>>>>> = {
  httplog: { ...ofAddress, credential: 'headers' },
  newrelic: { ...ofAddress, credential: 'license_key' },
  otlplog: { ...ofAddress, credential: 'headers' },
  splunk: { ...ofAddress, credential: 'token', index: 'index' },
  sumologic: ofAddress,
  syslog: { address: 'host', certificate: 'tls_verify' },
};

/** A person waits for the answer. */
const secondsMax = 15;

/** Throws a Problem unless the sink takes a line. */
export async function refuseUnfitSink(platform: Pick<Platform, 'outbound'>, integration: Integration): Promise<void> {
  const { type, values, project_id, id } = integration;
  const sink = sinkOf(platform, type, values);
  if (!sink || !isSinkType(type)) return;
  const record = { time: Date.now(), service: '@platform', log: 'app', message: `This line checks the integration ${id}.` } as const;
  const context = { project: project_id, environment: '', extra: values['extra'] as Record<string, string> };
  const answer = await answerIn(secondsMax, (signal) => sink.send([record], context, signal));
  if (answer.is === 'taken' && !answer.refused) return;
  const about = answer.is === 'later' ? answer.about : 'address';
  throw invalidField(fieldOf[type][about] ?? fieldOf[type].address, `cannot be used: ${(answer.why ?? '').replace(/\.$/, '')}`);
}

async function answerIn(seconds: number, send: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const limit = AbortSignal.timeout(seconds * 1000);
  const answer = await send(limit);
  return limit.aborted && answer.is === 'later' ? { ...answer, why: `there was no answer within ${seconds} seconds` } : answer;
}
