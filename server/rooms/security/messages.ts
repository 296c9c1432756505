/** What we write to people about their account: plain text, what happened or what to do, and what to do if it was not them. */
import type { Message } from '../../drivers/mail/mail.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { recordMail } from '../deliveries/public.ts';
import { hoursOf } from './mailed-link.ts';

type Letter = Omit<Message, 'to'>;

const hours = (number: number) => (number === 1 ? 'an hour' : `${number} hours`);

const written = (subject: string, ...paragraphs: string[]): Letter => ({
  subject,
  text: `Hello,\n\n${paragraphs.join('\n\n')}\n\n-- \nOffshoot\n`,
});

export const confirmEmailLetter = (link: string, { username, email }: { username: string; email: string }) =>
  written(
    'Confirm your e-mail address',
    `the user ${username}, whose address is ${email}, asked to use this e-mail address for their Offshoot account. If that is you, open this page to confirm it:`,
    link,
    `The link works once, for ${hours(hoursOf('change-email'))}. If you did not ask for this, do nothing: the address of the account stays as it is.`,
  );

export const emailChangedLetter = (email: string, url: string) =>
  written(
    'Your e-mail address was changed',
    `the e-mail address of your Offshoot account at ${url} is now ${email}. Mail about the account no longer goes to this address.`,
    'If that was not you, somebody else can use your account: tell the operator of this installation.',
  );

export const resetPasswordLetter = (link: string) =>
  written(
    'Set a new password',
    'somebody, probably you, asked to set a new password for your Offshoot account. Open this page to do so:',
    link,
    `The link works once, for ${hours(hoursOf('reset-password'))}. If you did not ask for this, do nothing: your password stays as it is.`,
  );

const passwordChangedLetter = (url: string) =>
  written(
    'Your password was changed',
    `the password of your Offshoot account at ${url} was changed, and you were signed out everywhere else.`,
    `If that was not you, set a new one now: ${url}/forgot-password`,
  );

const secondFactorLetters = (url: string) => ({
  on: written(
    'Two-factor authentication is on',
    `from now on, signing in to your Offshoot account at ${url} takes a passcode as well. Keep your recovery codes where you can find them without your device.`,
    `If that was not you, somebody else can use your account: set a new password now, and tell the operator. ${url}/forgot-password`,
  ),
  off: written(
    'Two-factor authentication is off',
    `signing in to your Offshoot account at ${url} no longer takes a passcode.`,
    `If that was not you, somebody else can use your account: set a new password now, and tell the operator. ${url}/forgot-password`,
  ),
});

export const tellPasswordChanged = (tx: Tx, platform: Platform, to: string) =>
  recordMail(tx, platform, { to, ...passwordChangedLetter(platform.config.url) });

export const tellSecondFactor = (tx: Tx, platform: Platform, to: string, state: 'on' | 'off') =>
  recordMail(tx, platform, { to, ...secondFactorLetters(platform.config.url)[state] });
