/** Integrations that are told when something is wrong with a project, and when it is well again. */
import { Type } from 'typebox';
import { sharedKey } from './activity-hooks.ts';
import { forManagers, key, list, orNull, required, secretAddress, text, token, writeOnly, type IntegrationType } from './field.ts';

/** No character by which one address could become two, or a name and an address. */
const partOfAddress = String.raw`[^\s@<>,;:"()\\\u0000-\u001f\u007f-\u009f]+`;
const mailAddress = String.raw`${partOfAddress}@${partOfAddress}\.${partOfAddress}`;

const recipient = Type.String({
  maxLength: 320,
  pattern: `^(#admins|#viewers|${mailAddress})$`,
  'x-message': 'must be an e-mail address, #admins or #viewers',
});

const sender = Type.String({
  maxLength: 320,
  pattern: `^${mailAddress}$`,
  'x-message': 'must be an e-mail address',
  description: 'Whom mail is said to come from.',
});

export const healthEmail: IntegrationType = {
  fields: {
    from_address: orNull({ schema: sender }),
    recipients: required(list(recipient, undefined, 'Addresses; `#admins` and `#viewers` stand for people of the project.')),
  },
  lacks: ({ recipients }, { mail }) => {
    if ((recipients as string[]).length === 0) return { recipients: 'must not be empty: nobody is told' };
    return mail.smtpUrl === undefined ? { recipients: 'get no mail: this installation has no mail server (OFFSHOOT_SMTP_URL)' } : {};
  },
};

export const healthPagerduty: IntegrationType = {
  fields: { routing_key: required(forManagers(key('The integration key of a service.'), () => '')) },
};

export const healthSlack: IntegrationType = {
  fields: { token: required(token('A token that may write to the channel.')), channel: required(text('Where messages are written.')) },
};

export const healthWebhook: IntegrationType = {
  fields: { url: required(secretAddress('Where messages are posted to.')), shared_key: writeOnly(sharedKey) },
};
