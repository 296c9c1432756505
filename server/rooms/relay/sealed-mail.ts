/** What people wrote, as the database has it: sealed, each part for its message alone. */
import type { Envelope } from '../../drivers/mail/relayed-mail.ts';
import type { Secrets } from '../../kernel/secrets.ts';

type Sealing = Pick<Secrets, 'seal' | 'open'>;

const purposes = {
  envelope: (id: string) => `envelope of app mail ${id}`,
  message: (id: string) => `app mail ${id}`,
  note: (id: string) => `note on app mail ${id}`,
};

export const sealedEnvelope = (secrets: Sealing, id: string, envelope: Envelope) =>
  secrets.seal(purposes.envelope(id), JSON.stringify(envelope));
export const openedEnvelope = (secrets: Sealing, id: string, sealed: string) =>
  JSON.parse(secrets.open(purposes.envelope(id), sealed)) as Envelope;

/** Messages are bytes of any encoding; each becomes one character, and the same byte again. */
export const sealedMessage = (secrets: Sealing, id: string, message: Buffer) =>
  secrets.seal(purposes.message(id), message.toString('latin1'));
export const openedMessage = (secrets: Sealing, id: string, sealed: string) =>
  Buffer.from(secrets.open(purposes.message(id), sealed), 'latin1');

export const sealedNote = (secrets: Sealing, id: string, text: string) => secrets.seal(purposes.note(id), text);
export const openedNote = (secrets: Sealing, id: string, sealed: string) => secrets.open(purposes.note(id), sealed);
