/**
 * Mail that others wrote, passed on as it is: the bytes of the message, and whom it is from and for as the envelope says, whatever its headers say. Each recipient
 * is answered for, because a server may take a message for some of them, put off others, and refuse the rest.
 */
import type { Transporter } from 'nodemailer';
import type { Log } from '../../kernel/log.ts';
import { Problem } from '../../kernel/problem.ts';
import { openOutbox } from '../outbox/outbox.ts';

export interface Envelope {
  /** Empty for messages that nobody wants to hear back about. */
  from: string;
  to: readonly string[];
}

export interface Relayed {
  accepted: readonly string[];
  /** Those for whom the server may take it later. */
  deferred: readonly Answer[];
  refused: readonly Answer[];
}

export interface Answer {
  address: string;
  /** In the words of the server. */
  reply: string;
}

/** Throws `unavailable` when the server was not reached, or took nothing from us whatever it was. */
export type Relay = (envelope: Envelope, message: Buffer) => Promise<Relayed>;

interface Failure {
  message?: string;
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
  rejectedErrors?: readonly Failure[];
}

export const relayBy =
  (transport: Transporter): Relay =>
  async ({ from, to }, message) => {
    const addressed = (address: string) => ({ name: '', address });
    const envelope = { ...(from !== '' && { from: addressed(from) }), to: to.map(addressed), use8BitMime: true };
    try {
      const { accepted, rejectedErrors = [] } = (await transport.sendMail({ envelope, raw: message })) as unknown as Taken;
      return { accepted, ...answersOf(rejectedErrors) };
    } catch (error) {
      const failure = error as Failure;
      if (isOfServer(failure))
        throw new Problem('unavailable', 'The mail server cannot be reached, or takes nothing just now.', { cause: error });
      return { accepted: [], ...answersOf(failure.rejectedErrors ?? to.map((recipient) => ({ ...failure, recipient }))) };
    }
  };

interface Taken {
  accepted: readonly string[];
  rejectedErrors?: readonly Failure[];
}

/** Answers to these are about the one message; before them, and where a server says that it is going away (421), nothing was decided about it. */
const aboutMessage = new Set(['MAIL FROM', 'RCPT TO', 'DATA', 'API']);
const goesAway = 421;
const isOfServer = ({ command = '', code, responseCode }: Failure) =>
  responseCode === goesAway || !aboutMessage.has(command) || (responseCode === undefined && code !== 'EENVELOPE' && code !== 'EMESSAGE');

function answersOf(failures: readonly Failure[]): Pick<Relayed, 'deferred' | 'refused'> {
  const answers = failures.map((failure) => ({
    isFinal: failure.responseCode === undefined || failure.responseCode >= 500,
    answer: { address: failure.recipient ?? '', reply: failure.response ?? failure.message ?? '' },
  }));
  const those = (isFinal: boolean) => answers.filter((each) => each.isFinal === isFinal).map(({ answer }) => answer);
  return { deferred: those(false), refused: those(true) };
}

/** Fewer than of the platform's own mail, because they can be large. */
const filesMax = 100;

/** The envelope stands before the message, in the headers that mail servers note it in. */
export function relayToFolder(folder: string, log: Log): Relay {
  const outbox = openOutbox(folder, 'eml', filesMax);
  return async ({ from, to }, message) => {
    const noted = `Return-Path: <${from}>\r\n${to.map((address) => `Envelope-To: <${address}>\r\n`).join('')}`;
    const file = await outbox.put(Buffer.concat([Buffer.from(noted), message]));
    log.info({ file }, 'mail of an app is in a file: no SMTP server is set');
    return { accepted: to, deferred: [], refused: [] };
  };
}
