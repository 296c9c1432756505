/** Words for a shell. */

/** Quoted only where needed, so that commands stay as people would write them. */
export const shellWords = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./$-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');

/** A program that is told its port with the command is told the one that the platform gives it. */
export const withPort = (command: string, port: string | undefined): string =>
  port === undefined || port === '' ? command : command.replaceAll(new RegExp(`(?<![\\w.])${literally(port)}(?![\\w.])`, 'g'), '$PORT');

/** For a regular expression. */
export const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
