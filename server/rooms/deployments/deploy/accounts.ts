/**
 * Who may sign in to the services of an environment. Each endpoint is an account; its password is made once and stays as long as the endpoint
 * does. A copy of an environment starts without accounts, so that passwords of the original open nothing in it.
 */
import { catalogue, serviceOfType } from '../../../catalogue/catalogue.ts';
import type { Access, Account } from '../../../catalogue/service.ts';
import { randomSecret } from '../../../kernel/secrets.ts';
import type { Service } from '../../builds/public.ts';
import type { StackSecrets } from '../stack/stack.ts';

const passwordBytes = 24;

/** Undefined: the type is not in the catalogue, or has no accounts. */
const relationshipShapeOf = ({ type }: Service) => {
  const service = serviceOfType(type);
  return service?.access && service.relationship;
};

/** Accounts by service and endpoint; services without accounts are left out. Passwords of `previous` stay, privileges are as configured now. */
export function accountsFor(services: Record<string, Service>, previous: StackSecrets['accounts'] = {}): StackSecrets['accounts'] {
  return Object.fromEntries(
    Object.entries(services).flatMap(([name, service]) => {
      const shape = relationshipShapeOf(service);
      if (!shape) return [];
      const accounts = Object.entries(service.endpoints).map(([endpoint, { privileges }]) => {
        const password = previous[name]?.[endpoint]?.password ?? randomSecret(passwordBytes);
        return [endpoint, { name: accountName(service, endpoint), password, privileges } satisfies Account] as const;
      });
      return [[name, Object.fromEntries(accounts)] as const];
    }),
  );
}

/** An account of a reserved name would replace an administrator's, or could not be made. A name that one type reserves is avoided in services of every type. */
const isReserved = (name: string) => Object.values(catalogue).some(({ service }) => service?.relationship.reservedAccounts?.test(name));

/** The default endpoint signs in under the name that people expect of the type, unless another endpoint is called that. */
function accountName(service: Service, endpoint: string): string {
  const { rel, defaultAccount } = relationshipShapeOf(service) ?? {};
  const usualName = endpoint === rel ? defaultAccount?.name : undefined;
  const name = usualName !== undefined && !Object.hasOwn(service.endpoints, usualName) ? usualName : endpoint;
  return isReserved(name) ? `account_${name}` : name;
}

/** What the driver is told: the service has exactly these accounts and databases. */
export const accessOf = ({ name, databases, extensions }: Service, accounts: StackSecrets['accounts']): Access => ({
  databases,
  accounts: Object.values(accounts[name] ?? {}),
  extensions,
});
