/** The mail that a platform without an SMTP server leaves in its data folder, read as the people read it to whom it is written. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { eventually } from './eventually.ts';

const arrivalSecondsMax = 60;

export interface Letter {
  subject: string;
  text: string;
  /** The file, as an operator opens it. */
  written: string;
}

/** Oldest first: the names of the files sort by age. */
export async function lettersTo(data: string, address: string): Promise<Letter[]> {
  const folder = join(data, 'mail');
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith('.eml')).sort();
  const all = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const letters = await Promise.all(all.map(async (written) => ({ written, ...(await PostalMime.parse(written)) })));
  return letters
    .filter(({ to }) => to?.some((recipient) => recipient.address === address))
    .map(({ subject = '', text = '', written }) => ({ subject, text, written }));
}

/** The newest one about something, which may still be on its way. */
export async function letterTo(data: string, address: string, subject: RegExp): Promise<Letter> {
  const newest = async () => (await lettersTo(data, address)).findLast((letter) => subject.test(letter.subject));
  await eventually(`a mail to ${address} about ${subject}`, async () => (await newest()) !== undefined, arrivalSecondsMax);
  return (await newest()) as Letter;
}

/** A link stands on a line of its own. */
export function linkIn({ text }: Letter): string {
  const [link] = /^http\S+$/m.exec(text) ?? [];
  if (link === undefined) throw new Error(`There is no link in the mail:\n${text}`);
  return link;
}
