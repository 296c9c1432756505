/** What is wrong with a description whose fields are all of the right kind: fields that need each other, and words in braces that stand for nothing. */
import type { DescribedAccounts, Description } from './description.ts';
import { unknownPlaceholders } from './placeholders.ts';

/** By the path of the field. */
type Flaws = Map<string, string>;

/** A folder that a container has from elsewhere, or that hides the programs of the image. */
const takenFolders = new Set([
  '/bin',
  '/dev',
  '/etc',
  '/lib',
  '/lib64',
  '/proc',
  '/sbin',
  '/sys',
  '/usr',
  '/usr/bin',
  '/usr/lib',
  '/usr/sbin',
]);

export function flawsIn(description: Description): Flaws {
  const flaws: Flaws = new Map();
  const {
    versions,
    retired = [],
    data,
    set_up,
    snapshot,
    ready = {},
    accounts,
    query = {},
    writable = [],
    start,
    environment = {},
  } = description;
  const note = (field: string, flaw: string | undefined) => flaw !== undefined && !flaws.has(field) && flaws.set(field, flaw);

  for (const [version, { image }] of Object.entries(versions))
    if (!/[:@][^/]+$/.test(image)) note(`versions.${version}.image`, 'must have a tag or a digest');
  for (const [index, version] of retired.entries())
    note(`retired.${index}`, Object.hasOwn(versions, version) ? `must not be among versions, which has ${version}` : undefined);
  if (set_up && !data) note('set_up', 'is only for a service with data, whose folder it sets up');
  if (set_up?.makes.split('/').some((part) => part === '..' || part === '.' || part === ''))
    note('set_up.makes', 'must not lead out of data.folder');
  if (snapshot && !data) note('snapshot', 'is only for a service with data, of which snapshots are taken');
  if (ready.http !== undefined && ready.command !== undefined) note('ready', 'must have http or command, not both');
  for (const [field, folder] of [['data.folder', data?.folder ?? ''], ...writable.map((path, index) => [`writable.${index}`, path])] as [
    string,
    string,
  ][])
    note(field, flawOfFolder(folder));
  if (data && writable.includes(data.folder)) note('data.folder', 'must not be among writable, whose folders are lost with the container');
  for (const [index, argument] of start.entries()) note(`start.${index}`, flawOfText(argument, ['memory']));
  for (const [name, value] of Object.entries(environment)) note(`environment.${name}`, flawOfText(value, []));
  for (const [name, value] of Object.entries(query))
    note(`query.${name}`, typeof value === 'string' ? flawOfText(value, accounts ? ['account', 'password', 'database'] : []) : undefined);
  if (accounts) for (const [field, flaw] of flawsOfAccounts(accounts)) note(`accounts.${field}`, flaw);
  return flaws;
}

const flawOfFolder = (folder: string) => {
  if (folder.split('/').some((part) => part === '..' || part === '.')) return 'must be without . and ..';
  return takenFolders.has(folder) ? 'must be a folder of its own, not one of the system' : undefined;
};

function flawOfText(text: string, known: readonly string[]): string | undefined {
  const unknown = unknownPlaceholders(text, known);
  if (unknown.length === 0) return undefined;
  const offered = known.length === 0 ? 'nothing is filled in here' : `here are filled in ${known.map((name) => `{${name}}`).join(', ')}`;
  return `has ${unknown.join(', ')}, which stands for nothing; ${offered}`;
}

/** Which words are filled in where. */
const knownIn = {
  first: ['accounts', 'databases'],
  each_database: ['database'],
  each_account: ['account', 'password', 'database'],
  last: ['accounts', 'databases'],
} as const;

function flawsOfAccounts({
  configuration,
  each_privilege = {},
  reserved_accounts = [],
  reserved_databases = [],
  ...accounts
}: DescribedAccounts) {
  const flaws: [string, string | undefined][] = [];
  for (const [field, known] of Object.entries(knownIn))
    flaws.push([field, flawOfText(accounts[field as keyof typeof knownIn] ?? '', known)]);
  for (const [privilege, script] of Object.entries(each_privilege))
    flaws.push([`each_privilege.${privilege}`, flawOfText(script ?? '', ['account', 'password', 'database'])]);
  if (configuration) {
    for (const privilege of ['admin', 'rw', 'ro'] as const)
      if (each_privilege[privilege] === undefined) flaws.push([`each_privilege.${privilege}`, 'is required where people choose endpoints']);
    if (accounts.each_database === undefined) flaws.push(['each_database', 'is required where people choose databases']);
    if (configuration.databases === 'endpoints')
      flaws.push(['configuration.databases', 'must not be endpoints, which is the key of those']);
  }
  if (isReserved(reserved_accounts, accounts.account)) flaws.push(['account', 'must not be among reserved_accounts']);
  if (isReserved(reserved_databases, accounts.database)) flaws.push(['database', 'must not be among reserved_databases']);
  if (!accounts.first && !accounts.each_account && Object.keys(each_privilege).length === 0)
    flaws.push(['each_account', 'is required: otherwise nobody is ever let in']);
  return flaws.filter(([, flaw]) => flaw !== undefined);
}

const isReserved = (reserved: readonly string[], name: string) =>
  reserved.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
