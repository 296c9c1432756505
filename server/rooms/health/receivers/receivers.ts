/** Who can be told of health: a row for each type of integration. */
import { email } from './email.ts';
import { pagerduty } from './pagerduty.ts';
import type { Receiver } from './receiver.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

const receivers: Readonly<Record<string, Receiver>> = {
  'health.email': email,
  'health.pagerduty': pagerduty,
  'health.slack': slack,
  'health.webhook': webhook,
};

export const receiverOf = (type: string): Receiver => {
  const receiver = receivers[type];
  if (!receiver) throw new Error(`Integrations of the type ${type} are not told of health`);
  return receiver;
};

export const healthKinds = Object.values(receivers).map(({ kind }) => kind);
