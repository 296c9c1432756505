/** Integrations that logs are sent to. */
import { Type } from 'typebox';
import { capabilities } from '../../projects/public.ts';
import {
  choice,
  flag,
  forManagers,
  headersOfRequests,
  list,
  map,
  required,
  secretAddress,
  text,
  token,
  writeOnly,
  type Field,
  type IntegrationType,
  type Values,
} from './field.ts';

const common = {
  extra: map(String.raw`^[^\u0000-\u001f\u007f]+$`, 'Added to every record.'),
  tls_verify: flag(true, 'Whether the certificate of the receiver has to be valid.'),
  excluded_services: list(Type.String({ minLength: 1, maxLength: 100 }), [], 'Apps and services whose logs are not sent.'),
  redaction: flag(false, 'Whether e-mail addresses and the like are taken out of lines before they are sent.'),
};

const { max_extra_payload_size: extraBytesMax } = capabilities.logs_forwarding;

const mistakes = ({ extra }: Values): Record<string, string> =>
  Buffer.byteLength(JSON.stringify(extra)) > extraBytesMax ? { extra: `must be at most ${extraBytesMax} bytes as JSON` } : {};

const logReceiver = (fields: Record<string, Field>, lacks?: IntegrationType['lacks']): IntegrationType => ({
  mistakes,
  ...(lacks && { lacks }),
  fields: { ...common, ...fields },
});

const url = required(secretAddress('Where logs are posted to.'));
/** Who may not manage integrations is told the names. */
const headers = forManagers(headersOfRequests('Headers that requests have.'), (value) =>
  Object.fromEntries(Object.keys(value as object).map((name) => [name, ''])),
);

export const httplog = logReceiver({ url, headers });
export const otlplog = logReceiver({ url, headers });
export const newrelic = logReceiver({ url, license_key: required(token('A license key for logs.')) });
export const splunk = logReceiver({
  url,
  index: required(text('The index that records go to.')),
  token: required(token('A token of an HTTP event collector.')),
  sourcetype: text('The type that records are said to have.', ''),
});
export const sumologic = logReceiver({ url, category: text('The category that records are said to have.', '') });

export const syslog = logReceiver(
  {
    host: text('Where the receiver is.', ''),
    port: { schema: Type.Integer({ minimum: 0, maximum: 65_535 }), usual: 6514 },
    protocol: choice(['tcp', 'tls', 'udp'], 'tls', 'How it is spoken to.'),
    facility: { schema: Type.Integer({ minimum: 0, maximum: 23, description: 'The facility of all records.' }), usual: 1 },
    message_format: choice(['rfc3164', 'rfc5424'], 'rfc5424', 'The form of a record.'),
    auth_token: token('A token that the receiver asks for.'),
    auth_mode: writeOnly(choice(['prefix', 'structured_data'], 'prefix', 'Where the token is put.')),
  },
  ({ host }) => (host === '' ? { host: 'is not set, so nothing is sent' } : {}),
);
