/** One record as a message of syslog, as RFC 5424 or RFC 3164 has it. */
import { levelOf, type Level, type LogRecord, type RecordContext } from './log-record.ts';

export interface MessageFormat {
  message_format: 'rfc3164' | 'rfc5424';
  facility: number;
  auth_token?: string;
  auth_mode: 'prefix' | 'structured_data';
}

const severities: Readonly<Record<Level, number>> = { error: 3, info: 6 };

/** Answers what writes the records of one context; what is the same for all of them is made once. */
export function messageWriter(format: MessageFormat, context: RecordContext): (record: LogRecord) => string {
  const host = headerText(`${context.environment}.${context.project}`, hostCharactersMax);
  const priorityOf = ({ log }: LogRecord) => `<${format.facility * 8 + severities[levelOf[log]]}>`;
  return format.message_format === 'rfc5424'
    ? modernWriter(format, context, host, priorityOf)
    : oldWriter(format, context, host, priorityOf);
}

type PriorityOf = (record: LogRecord) => string;

function modernWriter({ auth_token, auth_mode }: MessageFormat, { extra }: RecordContext, host: string, priorityOf: PriorityOf) {
  const isStructured = auth_token !== undefined && auth_mode === 'structured_data';
  const prefix = auth_token === undefined || isStructured ? '' : `${auth_token} `;
  const elements = `${isStructured ? `[${elementName(auth_token)}]` : ''}${elementOf(extra)}`;
  return (record: LogRecord) => {
    const [name, id] = [headerText(record.service, appCharactersMax), headerText(record.log, idCharactersMax)];
    return `${priorityOf(record)}1 ${new Date(record.time).toISOString()} ${host} ${name} - ${id} ${elements || '-'} ${prefix}${record.message}`;
  };
}

/** This format has no place for fields, so they stand before the message, as structured data would. */
function oldWriter({ auth_token, auth_mode }: MessageFormat, { extra }: RecordContext, host: string, priorityOf: PriorityOf) {
  const token = auth_token === undefined ? '' : auth_mode === 'prefix' ? `${auth_token} ` : `[${elementName(auth_token)}] `;
  const fields = Object.keys(extra).length === 0 ? '' : `${elementOf(extra)} `;
  return (record: LogRecord) => {
    const tag = `${record.service}/${record.log}`.replace(/[^\x21-\x39\x3b-\x5a\x5c\x5e-\x7e]/g, '_').slice(0, tagCharactersMax);
    return `${priorityOf(record)}${oldTime(record.time)} ${host} ${tag}: ${token}${fields}${record.message}`;
  };
}

const hostCharactersMax = 255;
const appCharactersMax = 48;
const idCharactersMax = 32;
const tagCharactersMax = 64;

/** Words of the header are printable ASCII without spaces. */
const headerText = (text: string, charactersMax: number) => text.replace(/[^\x21-\x7e]/g, '_').slice(0, charactersMax) || '-';

const nameCharactersMax = 32;
/** Structured data that IANA does not know carries the number of an enterprise. This is the one for everybody who has none. */
const enterprise = 32_473;

const elementOf = (fields: Readonly<Record<string, string>>) => {
  const parameters = Object.entries(fields).map(([name, value]) => ` ${elementName(name).slice(0, nameCharactersMax)}="${escaped(value)}"`);
  return parameters.length === 0 ? '' : `[fields@${enterprise}${parameters.join('')}]`;
};

const elementName = (name: string) => name.replace(/[^\x21\x23-\x3c\x3e-\x5c\x5e-\x7e]/g, '_');
const escaped = (value: string) => value.replace(/["\\\]]/g, (character) => `\\${character}`).replace(/[\r\n]/g, ' ');

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** In UTC: the format has no place for a time zone. */
function oldTime(time: number): string {
  const date = new Date(time);
  return `${months[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${date.toISOString().slice(11, 19)}`;
}
