/** `health.slack`: messages to a channel, by `chat.postMessage` with a token that may write there. */
import type { Sent } from '../../../kernel/delivery.ts';
import { detailsOf, headingOf, type HealthMessage } from '../message.ts';
import { httpReceiver } from './receiver.ts';

const address = 'https://slack.com/api/chat.postMessage';
/** What Slack takes at most. */
const headerCharactersMax = 150;
const sectionCharactersMax = 2800;

export interface SlackContent {
  /** For notifications, which show no blocks. */
  text: string;
  blocks?: object[];
}

/** The three characters by which Slack's own marks begin. */
const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const marks = { opened: { warning: ':warning:', critical: ':rotating_light:' }, ended: ':white_check_mark:' };

function contentOf(message: HealthMessage): SlackContent {
  const heading = headingOf(message);
  const mark = message.event === 'ended' ? marks.ended : marks.opened[message.alert.severity];
  const details = detailsOf(message).map(([name, value]) => ({
    type: 'mrkdwn',
    text: `*${name}:* ${plain(value).slice(0, sectionCharactersMax)}`,
  }));
  return {
    text: plain(heading),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: `${mark} ${heading}`.slice(0, headerCharactersMax), emoji: true } },
      { type: 'section', text: { type: 'mrkdwn', text: plain(message.alert.text).slice(0, sectionCharactersMax) } },
      { type: 'context', elements: details },
    ],
  };
}

/** Errors that may be over the next time; all others say that it will never be taken. */
const isPassing = new Set(['ratelimited', 'rate_limited', 'internal_error', 'fatal_error', 'service_unavailable', 'request_timeout']);

/** Slack says in the reply, whose status is 200, that it did not take a message. Such a reply is short; one that cannot be read whole repeats the message. */
function understood(sent: Sent): Sent {
  if (sent.outcome !== 'delivered') return sent;
  const { ok, error = 'unknown' } = answerIn(sent.response?.['body']);
  if (ok) return sent;
  return { ...sent, outcome: isPassing.has(error) ? 'failed' : 'refused', trouble: `Slack answered with the error ${error}.` };
}

function answerIn(body: unknown): { ok?: boolean; error?: string } {
  if (typeof body !== 'string') return {};
  try {
    return JSON.parse(body) as { ok?: boolean; error?: string };
  } catch {
    return { ok: /^\s*\{\s*"ok"\s*:\s*true\b/.test(body) };
  }
}

export const slack = httpReceiver<SlackContent>('integration.health.slack', {
  contentOf,
  understood,
  request: ({ token, channel }, content) => ({
    url: address,
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', authorization: `Bearer ${String(token)}` },
    body: JSON.stringify({ channel, ...content, unfurl_links: false, unfurl_media: false }),
  }),
});

export const slackGreeting = (projectTitle: string): SlackContent => ({
  text: plain(`This channel will be told about the health of the project ${projectTitle}.`),
});
