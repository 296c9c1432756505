/** The settings of an installed service: one file, in the form that Node reads (`node --env-file`), kept when the service is installed again or upgraded. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { Problem } from '../../server/kernel/problem.ts';

export type Settings = Record<string, string>;

/** Only the first start reads these, and the installation does that start itself: the password must not lie around in a file. */
const firstStartOnly = /^OFFSHOOT_ADMIN_/;

/** What an operator has set for `./offshoot install`, in its environment. */
export const settingsGiven = (env: Record<string, string | undefined>): Settings =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      (name.startsWith('OFFSHOOT_') || name === 'DATABASE_URL') && value !== undefined && value !== '' ? [[name, value]] : [],
    ),
  );

export function settingsText(settings: Settings): string {
  const lines = Object.entries(settings)
    .filter(([name]) => !firstStartOnly.test(name))
    .map(([name, value]) => `${name}=${written(name, value)}`);
  return [
    '# Settings of Offshoot: what differs from the defaults, which the table in README.md tells. After a change: systemctl restart offshoot',
    '# A value with spaces, quotes or # goes in quotes. Also read by the command offshoot.',
    ...lines,
    '# OFFSHOOT_DOMAIN=apps.example.org',
    '# OFFSHOOT_URL=https://offshoot.example.org',
    '# OFFSHOOT_BACKUPS=/mnt/another-disk/backups',
    '# OFFSHOOT_SMTP_URL=smtp://user:password@mail.example.org:587',
    '',
  ].join('\n');
}

/** Written in the first kind of quotes that the value does not hold; a value with all three kinds cannot be written. */
function written(name: string, value: string): string {
  if (/^[\w/.:@,=%+-]+$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((each) => !value.includes(each));
  if (quote === undefined || /[\r\n]/.test(value))
    throw new Problem('invalid-request', `${name} cannot be written to a settings file: it has a line end, or all of ' " and \`.`);
  return `${quote}${value}${quote}`;
}

/** Empty where there is no file. */
export const readSettings = (file: string): Settings => (existsSync(file) ? (parseEnv(readFileSync(file, 'utf8')) as Settings) : {});

/** The file may hold passwords, so only root can read it. */
export function writeSettings(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
}
