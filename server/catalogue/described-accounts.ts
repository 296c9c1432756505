/** The accounts of a described service: which of them people may choose, and the text by which the service is told of them. */
import type { DescribedAccounts } from './description.ts';
import { filled } from './placeholders.ts';
import { adminEndpoint, type ServiceConfiguration } from './service-configuration.ts';
import { type Access, argvOf, checkNames, type ServiceCommand } from './service.ts';

const nothing = /^$/;

/** The names of a list, of which those that end with `*` stand for all that begin so. */
export function matching(names: readonly string[]): RegExp {
  const patterns = names.map((name) => name.replace(/\*$/, '').replaceAll('.', String.raw`\.`) + (name.endsWith('*') ? '.*' : ''));
  return names.length === 0 ? nothing : new RegExp(`^(?:${patterns.join('|')})$`, 'i');
}

/** As with databases that are built in: once databases or endpoints are named, those are all there are; without either there is the usual one. */
export function describedConfiguration(accounts: DescribedAccounts, endpoint: string): ServiceConfiguration {
  const { database, configuration, reserved_accounts = [], reserved_databases = [] } = accounts;
  const usual = { databases: [database], endpoints: { [endpoint]: adminEndpoint([database]) } };
  if (!configuration) return { offer: () => usual };
  return {
    databases: { key: configuration.databases, reserved: matching(reserved_databases) },
    endpoints: { defaultKey: configuration.default, reserved: matching(reserved_accounts) },
    offer: ({ databases, endpoints }) => {
      if (!databases && !endpoints) return usual;
      const offered = databases ?? [database];
      return { databases: offered, endpoints: endpoints ?? { [endpoint]: adminEndpoint(offered) } };
    },
  };
}

/** One command, which reads all that is to be done. Names and passwords have no character that could end a quoted text. */
export const describedAccess =
  ({ run, first = '', each_database = '', each_account = '', each_privilege = {}, last = '' }: DescribedAccounts) =>
  (access: Access): ServiceCommand[] => {
    checkNames(access);
    checkPasswords(access);
    const { databases, accounts } = access;
    const all = { accounts: quotedList(accounts.map(({ name }) => name)), databases: quotedList(databases) };
    const stdin = [
      filled(first, all),
      ...databases.map((database) => filled(each_database, { database })),
      ...accounts.flatMap(({ name, password, privileges }) => {
        const account = { account: name, password, database: Object.keys(privileges)[0] ?? '' };
        const granted = Object.entries(privileges).filter(([database]) => databases.includes(database));
        return [
          filled(each_account, account),
          ...granted.map(([database, privilege]) => filled(each_privilege[privilege] ?? '', { ...account, database })),
        ];
      }),
      filled(last, all),
    ].filter((part) => part !== '');
    return [{ argv: argvOf(run), stdin: stdin.map((part) => (part.endsWith('\n') ? part : `${part}\n`)).join('') }];
  };

/** `'main', 'other'`, as SQL and JavaScript read it. Without a name there is an empty one, because SQL knows no empty list. */
const quotedList = (names: readonly string[]) => (names.length === 0 ? "''" : names.map((name) => `'${name}'`).join(', '));

const passwordShape = /^[A-Za-z0-9_-]+$/;

function checkPasswords({ accounts }: Access) {
  if (accounts.some(({ password }) => !passwordShape.test(password)))
    throw new TypeError('A password has characters that a description cannot quote.');
}
