/**
 * Mail to one person at a time, in plain text, and mail that apps wrote (relayed-mail.ts). Through an SMTP server where one is set; otherwise into a folder, as the
 * messages that would have been sent. A recipient or a subject that could become a second header or a second recipient is refused before anything is written.
 */
import { createTransport } from 'nodemailer';
import type { Log } from '../../kernel/log.ts';
import { Problem } from '../../kernel/problem.ts';
import { openOutbox } from '../outbox/outbox.ts';
import { relayBy, relayToFolder, type Relay } from './relayed-mail.ts';

export interface Mail {
  /** Resolves once the message is accepted for delivery. Throws `unavailable` when it cannot be, `invalid-request` when the recipient is refused. */
  send(message: Message): Promise<void>;
  /** Passes on what somebody else wrote. */
  relay: Relay;
}

export interface Message {
  to: string;
  /** Whom it is said to come from; the platform is named as who sent it. Undefined: the platform itself. */
  from?: string;
  subject: string;
  text: string;
}

export interface MailSettings {
  /** `smtp://user:password@host:587`, or `smtps://…` for TLS from the first byte. Undefined: the folder. */
  smtpUrl: string | undefined;
  /** The address that messages come from. */
  from: string;
}

export const openMail = ({ smtpUrl, from }: MailSettings, folder: string, log: Log): Mail =>
  smtpUrl === undefined ? openMailFolder(folder, from, log) : openSmtp(smtpUrl, from);

/** Messages as RFC 5322 has them, for development and for tests; those of apps in a folder of their own, so that they do not push out ours. */
export function openMailFolder(folder: string, from: string, log: Log): Mail {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const outbox = openOutbox(folder, 'eml');
  return {
    async send(message) {
      const { message: written } = await composer.sendMail(envelope(message, from));
      const file = await outbox.put(written as Buffer);
      log.info({ file }, 'mail is in a file: no SMTP server is set');
    },
    relay: relayToFolder(`${folder}-of-apps`, log),
  };
}

const connectSecondsMax = 10;
const idleSecondsMax = 20;

/** A password is never sent in the clear, except to a server on this machine. */
export function openSmtp(smtpUrl: string, from: string): Mail {
  const url = new URL(smtpUrl);
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const hasPassword = url.password !== '';
  const transport = createTransport({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && hasPassword && !loopback.has(host),
    ...(url.username !== '' && { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: connectSecondsMax * 1000,
    greetingTimeout: connectSecondsMax * 1000,
    socketTimeout: idleSecondsMax * 1000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(message) {
      const mail = envelope(message, from);
      try {
        await transport.sendMail(mail);
      } catch (cause) {
        throw problemOf(cause);
      }
    },
    relay: relayBy(transport),
  };
}

const loopback = new Set(['localhost', '127.0.0.1', '::1']);

const isPermanent = (code: number | undefined) => code !== undefined && code >= 500;

function problemOf(cause: unknown) {
  const { code, responseCode } = cause as { code?: string; responseCode?: number };
  return code === 'EENVELOPE' && isPermanent(responseCode)
    ? new Problem('invalid-request', 'The mail server refuses this e-mail address.', { cause })
    : new Problem('unavailable', 'Mail cannot be sent just now; try again in a moment.', { cause, headers: { 'retry-after': '60' } });
}

const addressCharactersMax = 320;
const subjectCharactersMax = 500;
/** Control characters, line and paragraph separators. */
const breaksLine = /[\p{Cc}\u2028\u2029]/u;

const lineCharactersMax = 76;

/** Lines as RFC 5322 recommends them. What fits needs no encoding, so that a link in a file can be copied as it stands. */
const wrapped = (text: string) =>
  text.replaceAll(new RegExp(String.raw`(?=.{${lineCharactersMax + 1}})(.{1,${lineCharactersMax}})[ \t]+`, 'g'), '$1\n');

const isOneAddress = (text: string) =>
  text.length <= addressCharactersMax && /^[^\s@,;:<>"()\\]+@[^\s@,;:<>"()\\]+$/.test(text) && !breaksLine.test(text);

function envelope({ to, from = '', subject, text }: Message, own: string) {
  if (!isOneAddress(to)) throw new Error('This is not the e-mail address of one recipient');
  if (from !== '' && !isOneAddress(from)) throw new Error('This is not the e-mail address of one sender');
  if (subject.length > subjectCharactersMax || breaksLine.test(subject)) throw new Error('A subject is one line');
  return {
    from: from === '' ? { name: 'Offshoot', address: own } : { name: '', address: from },
    ...(from !== '' && { sender: { name: 'Offshoot', address: own } }),
    /** Who cannot be reached is told to the platform, and its mail server vouches for nobody else. */
    envelope: { from: own, to },
    to: { name: '', address: to },
    subject,
    text: wrapped(text),
    /** Keeps out-of-office programs from replying. */
    headers: { 'auto-submitted': 'auto-generated' },
  };
}
