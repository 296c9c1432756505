/**
 * Short messages to phones. There is no one protocol for them, so a webhook of the operator's sends them, through whatever provider they
 * have; without one they are written to a folder. The address of the webhook is configuration, never a user's.
 */
import type { Log } from '../../kernel/log.ts';
import { Problem } from '../../kernel/problem.ts';
import { openOperatorsOutbound } from '../outbound/outbound.ts';
import { openOutbox } from '../outbox/outbox.ts';

export const phoneChannels = ['sms', 'whatsapp', 'call'] as const;
export type PhoneChannel = (typeof phoneChannels)[number];

export interface PhoneMessage {
  channel: PhoneChannel;
  /** E.164. */
  to: string;
  text: string;
}

export interface PhoneSender {
  /** Resolves once the message is accepted. Throws `unavailable` when it cannot be. */
  send(message: PhoneMessage): Promise<void>;
}

export const openPhone = (webhookUrl: string | undefined, folder: string, log: Log): PhoneSender =>
  webhookUrl === undefined ? openPhoneFolder(folder, log) : openPhoneWebhook(webhookUrl);

export function openPhoneFolder(folder: string, log: Log): PhoneSender {
  const outbox = openOutbox(folder, 'txt');
  return {
    async send({ channel, to, text }) {
      const file = await outbox.put(`${channel} to ${to}\n\n${text}\n`);
      log.info({ file }, 'a message to a phone is in a file: no webhook is set');
    },
  };
}

const answerSecondsMax = 10;

/** Posts `{channel, to, text}`; any 2xx answer means accepted. Redirects are not followed: they could lead the code elsewhere. */
export function openPhoneWebhook(url: string): PhoneSender {
  const outbound = openOperatorsOutbound();
  const { username, password } = new URL(url);
  const address = new URL(url);
  address.username = '';
  address.password = '';
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = { 'content-type': 'application/json', ...(username !== '' && { authorization: `Basic ${credentials}` }) };
  return {
    async send({ channel, to, text }) {
      const request = { url: address.href, method: 'POST', headers, body: JSON.stringify({ channel, to, text }) };
      const reply = await outbound.request({ ...request, secondsMax: answerSecondsMax }).catch((cause: unknown) => {
        throw unavailable({ cause });
      });
      if (reply.status < 200 || reply.status >= 300) throw unavailable({ internal: `the phone webhook answered ${reply.status}` });
    },
  };
}

const unavailable = (details: { cause?: unknown; internal?: string }) =>
  new Problem('unavailable', 'Messages to phones cannot be sent just now; try again in a moment.', {
    ...details,
    headers: { 'retry-after': '60' },
  });
