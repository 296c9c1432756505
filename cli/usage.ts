/** Every command of ./offshoot: the one table of them, shown to whoever asks. What is not in it is refused, because nobody would know what was meant by it. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** For each command, the arguments that it takes and what it is for; this is what `./offshoot help` shows. */
export const usages: Record<string, readonly [takes: string, about: string]> = {
  start: ['[--only api|runner]', 'runs the platform, or a part of it beside one that runs'],
  doctor: ['', 'what this machine offers, the remedy for what it lacks, what is taken and given out'],
  shutdown: ['', 'stops all environments and the edge; the platform must be stopped before'],
  '--version': ['', 'the version, and the commit of a clone'],
  help: ['', 'these commands'],
  'user create': [
    '<e-mail> [--username NAME] [--operator] [--password-stdin]',
    'prints a generated password, or reads one from standard input',
  ],
  'user password': ['<e-mail> [--password-stdin]', 'sets a new password and signs the user out everywhere'],
  'user mfa-off': ['<e-mail>', 'for whoever lost both device and recovery codes'],
  'user list': ['', 'everybody, oldest first'],
  'token create': ['<e-mail> [NAME]', 'prints a new API token'],
  'cli-config': ['[file]', 'points the released client at this installation; says how to use it'],
  ca: ['', 'prints the authority that signs for this installation, and how to trust it'],
  'acme rollover': ['', 'gives the accounts at authorities (ACME) other keys, as after a leak'],
  'organization limit': ['<name> <users>', 'how many users it may have; none for as many as it likes'],
  'organization suspend': [
    '<name> [reason]',
    'pauses all that runs for it and refuses changes; its data stays, and its members are told by mail',
  ],
  'organization resume': ['<name>', 'brings back what ran before; its members are told by mail'],
  'ticket list': ['', 'requests for help that wait for somebody, oldest first'],
  'ticket show': ['<ticket>', 'what was asked, what was said about it, and what is attached'],
  'ticket answer': ['<ticket>', 'reads the answer from standard input; the people on the ticket are told by mail'],
  'ticket close': ['<ticket>', 'for good; another one can follow it up'],
  'quota set': [
    'organization|project <name>|default <limit>…',
    'projects=3 environments=5 builds=2 (at once) cpu=4 memory=8192 disk=20000 (MB), each or none',
  ],
  'quota list': ['', 'what is allowed by default and to whom otherwise, and how much of it is used'],
  'prices show': ['', 'the price lists: those that hold today, those to come, and what is free where there is none'],
  'prices set': ['<file>', 'a price list in YAML or JSON, for its currency and from its day on; what is billed keeps its prices'],
  'invoice list': ['[--all]', 'invoices and credit memos that somebody has to pay; or all'],
  'invoice paid': ['<invoice>', 'the money of an invoice has arrived, or that of a credit memo was given back'],
  'invoice correct': ['<invoice> <amount> <reason>…', 'gives back so much of it, tax included, by a credit memo'],
  'voucher create': ['<amount> <currency> [code]', 'for whoever applies its code; it is taken off their orders until it is used up'],
  'voucher list': ['', 'all vouchers, who has them, and what is left of each'],
  'discount create': [
    '<organization> allowance|startup|enterprise <amount> [months]',
    'takes so much off each month, from this one on; default for the allowance of the price list',
  ],
  'discount list': ['', 'what is taken off whose orders'],
  'discount end': ['<discount>', 'from the open order on; what is closed stays as it is'],
  'prepayment add': ['<organization> <amount> [message]…', 'what an organization has paid ahead, in its currency'],
  'prepayment take': ['<organization> <amount> [message]…', 'what of it was given back'],
  'prepayment fallback': ['<organization> invoice|none', 'what pays where the balance does not suffice'],
  'deployment list': ['<project> <environment>', 'what was deployed there, and what can be gone back to'],
  rollback: ['<project> <environment> [deployment]', 'what ran before runs again: the one of that number, or what came before'],
  'backup list': ['[project]', 'all backups of environments, oldest first'],
  'backup verify': [
    '[backup|project]',
    "reads back every byte: of one, of a project's, or of all; what is damaged is not offered any more",
  ],
  'backup repair': [
    '[project]',
    'takes what is damaged out of use, and brings back what another place has whole; platform for those of the platform',
  ],
  'backup export': ['<backup> <file>', 'as one file, and the key that opens it'],
  'backup import': ['<file> --project ID --environment NAME', 'of another installation; reads the key from standard input'],
  'backup platform': ['[--to PLACE]', 'of the database and the repositories; also made by itself each day'],
  'backup key': ['', 'without which no backup can be read: keep it elsewhere'],
  'restore platform': ['[--from PLACE] [--backup NAME] [--key-stdin]', 'the installation, on a machine that has none'],
  import: ['[folder]', 'makes a configuration out of a compose file, a Procfile or the older form, and says what it could not carry over'],
  'service-type add': ['<file>', 'a service that runs from an image, described in YAML or JSON; again to change it'],
  'service-type list': ['', 'the service types that are described, by you or by Offshoot, and which of them nobody has tried'],
  'service-type show': ['<name>', 'its description, to begin another one from'],
  'service-type remove': ['<name>', 'one that you described and that no environment uses'],
  'image list': ['', 'everything an app or a service can be, what is deprecated or retired, and what is built'],
  'image build': ['<type>…', 'ahead of its first use; all for everything that is built here'],
  'image update': ['', 'builds anew what Debian has newer packages for'],
  'image collect': ['', 'removes what nothing has used for a month, or beyond 20 GB'],
  sessions: ['', 'who is inside running apps over SSH, oldest first'],
  install: ['', 'this program as a service of the machine (systemd); what is set as OFFSHOOT_* becomes its settings'],
  upgrade: ['[folder] [--back] [--yes]', 'the service to this version, or to that in the folder; --back to the one before'],
  uninstall: ['[--data] [--yes]', 'the service ends and is removed; its data and settings only with --data'],
  test: [
    '[fast | catalogue | machines | peers | templates] [filter]…',
    'for developers: all tests, those of the fast loop, all versions of all types, those on virtual machines, those with programs of others, the templates, or those whose file name matches',
  ],
  check: ['', 'for developers: types, lint, format'],
  bench: ['[name]', 'for developers: performance, as ratios to an anchor measured in the same run'],
  screenshots: ['', 'for developers: pictures of the console, into docs/screenshots'],
  schema: ['', 'for developers: server/schema.sql and database.ts from the migrations'],
};

const synopses = Object.entries(usages).map(([name, [takes, about]]) => [`${name} ${takes}`.trimEnd(), about] as const);
const width = Math.max(...synopses.map(([synopsis]) => synopsis.length));

export const usage = ['Usage: ./offshoot <command>', ...synopses.map(([synopsis, about]) => `  ${synopsis.padEnd(width)}   ${about}`)].join(
  '\n',
);

/** A sentence for the operator; the command was not begun. */
export class WrongUsage extends Error {}

export interface Arguments {
  words: string[];
  flags: Flags;
}

interface Flags {
  username?: string;
  operator?: boolean;
  'password-stdin'?: boolean;
  'key-stdin'?: boolean;
  to?: string;
  from?: string;
  backup?: string;
  project?: string;
  environment?: string;
  data?: boolean;
  back?: boolean;
  yes?: boolean;
  all?: boolean;
  help?: boolean;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const options = {
  username: text,
  operator: flag,
  'password-stdin': flag,
  'key-stdin': flag,
  to: text,
  from: text,
  backup: text,
  project: text,
  environment: text,
  data: flag,
  back: flag,
  yes: flag,
  all: flag,
  help: flag,
};

export function readArguments(args: string[]): Arguments {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    return { flags: values, words: positionals };
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split(/[.\n]/);
    throw new WrongUsage(`${sentence}; ./offshoot help shows what there is.`);
  }
}

/** Refuses arguments that the command does not take: to ignore them would be to do something else than was asked for. */
export function refuseSurplus(name: string, { words, flags }: Arguments): void {
  const takes = usages[name]?.[0] ?? '';
  const flagsTaken = new Set([...takes.matchAll(/--([a-z-]+)/g)].map(([, taken]) => taken));
  const wordsTaken = takes
    .replaceAll(/\[?--[a-z-]+(?: [A-Z]+)?\]?/g, '')
    .split(' ')
    .filter(Boolean).length;
  const foreign = Object.keys(flags).find((given) => !flagsTaken.has(given));
  const surplus = takes.includes('…') ? undefined : words[wordsTaken];
  if (foreign === undefined && surplus === undefined) return;
  throw new WrongUsage(
    `./offshoot ${name} takes no ${foreign === undefined ? JSON.stringify(surplus) : `--${foreign}`}; it is used like this: ${`./offshoot ${name} ${takes}`.trimEnd()}`,
  );
}

/** All of it; commands read secrets from there. */
export const standardInput = () => readFileSync(0, 'utf8');
