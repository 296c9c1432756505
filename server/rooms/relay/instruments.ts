/** What the relay counts, and what waits for it, for operators. */
import { sql } from 'kysely';
import { gauge, openCounter, type Family } from '../../kernel/instruments.ts';
import { stateOf } from '../../kernel/state-of.ts';
import type { Platform } from '../../platform.ts';
import { refusalKinds } from './refusal.ts';
import type { Counted } from './smtp-endpoint.ts';

export const instrumentsOf = stateOf<Platform, ReturnType<typeof openInstruments>>(() => openInstruments());

function openInstruments() {
  const messages = openCounter('offshoot_relay_messages_total', 'Messages of apps that the relay took.', []);
  const recipients = openCounter('offshoot_relay_recipients_total', 'Recipients of those messages.', []);
  const bytes = openCounter('offshoot_relay_bytes_total', 'Bytes of those messages.', []);
  const refusals = openCounter('offshoot_relay_refusals_total', 'What the relay refused, by why.', ['why']);
  // What never happened is told as 0.
  for (const counter of [messages, recipients, bytes]) counter.add([], 0);
  for (const why of refusalKinds) refusals.add([why], 0);
  return {
    messages,
    recipients,
    bytes,
    refusals,
    /** Set by whoever listens. */
    connections: () => 0,
    count(what: Counted) {
      if (!what.taken) return refusals.add([what.why.kind]);
      messages.add([]);
      recipients.add([], what.recipients);
      bytes.add([], what.bytes);
    },
  };
}

export async function relayFamilies(platform: Platform): Promise<Family[]> {
  const { messages, recipients, bytes, refusals, connections } = instrumentsOf(platform);
  const { rows } = await sql<{ waiting: number; bytes: number; deferred: number }>`
    select count(*)::integer as waiting, coalesce(sum(bytes), 0)::float8 as bytes, (count(*) filter (where is_deferred))::integer as deferred
    from app_mails where not is_given_up`.execute(platform.db);
  const { waiting = 0, bytes: waitingBytes = 0, deferred = 0 } = rows[0] ?? {};
  return [
    ...[messages, recipients, bytes, refusals].map((instrument) => instrument.family()),
    gauge('offshoot_relay_connections', 'Connections of apps to the relay.', connections()),
    gauge('offshoot_relay_waiting', 'Messages of apps that are not sent yet, and those of them that the mail server put off.', [
      { labels: { state: 'in order' }, value: waiting - deferred },
      { labels: { state: 'deferred' }, value: deferred },
    ]),
    gauge('offshoot_relay_waiting_bytes', 'Their bytes.', waitingBytes),
  ];
}
