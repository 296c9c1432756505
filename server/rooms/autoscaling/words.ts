/** What people are told of decisions: one sentence for what was seen, and one for what follows. */
import { escapeHtml } from '../../kernel/html.ts';
import type { Decision, Reason } from './decide.ts';
import type { TriggerName } from './settings.ts';

const triggerWords: Record<TriggerName, string> = {
  cpu: 'CPU',
  memory: 'Memory',
  cpu_pressure: 'CPU pressure',
  memory_pressure: 'Memory pressure',
  latency: 'Latency',
};

const inUnits = (trigger: TriggerName, value: number | string) => (trigger === 'latency' ? `${value} ms` : `${value}%`);

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

export const plainSentence = (text: string) => ({ description: escapeHtml(text), text });

export const seen = ({ service, reason }: Pick<Decision, 'service' | 'reason'>): string =>
  reason.kind === 'trigger' ? `Scaling: ${triggerSeen(service, reason)}` : `Scaling: ${service} is to have ${boundSeen(reason)}`;

const triggerSeen = (service: string, { trigger, direction, threshold, duration }: Extract<Reason, { kind: 'trigger' }>) =>
  `${triggerWords[trigger]} for ${service} ${direction === 'up' ? 'above' : 'below'} ${inUnits(trigger, threshold)} for ${plural(duration / 60, 'minute')}`;

const boundSeen = ({ bound, instances }: Extract<Reason, { kind: 'bound' }>) =>
  `at ${bound === 'min' ? 'least' : 'most'} ${plural(instances, 'instance')}`;

/** Several apps can be scaled at once. */
export const done = (decisions: readonly Decision[]): string => decisions.map(change).join('; ');

const change = ({ service, from, to }: Decision) =>
  to > from
    ? `Upscale: ${plural(to - from, 'instance')} added to ${service}`
    : `Downscale: ${plural(from - to, 'instance')} removed from ${service}`;

/** The log of an alert: the numbers behind its sentence, and what follows from it. */
export function account({ service, from, to, reason }: Decision, refusal: string | undefined): string {
  const measured =
    reason.kind === 'trigger'
      ? [`  On average it was ${inUnits(reason.trigger, reason.average.toFixed(1))} over ${plural(from, 'instance')}.`]
      : [];
  const result = refusal === undefined ? `  ${service} gets ${to} in place of ${from}.` : `  Nothing is added: ${refusal}`;
  return [`${seen({ service, reason })}.`, ...measured, result, ''].join('\n');
}
