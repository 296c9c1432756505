/** Where tests keep an account. */
import type { AccountStore, AcmeAccount } from './account.ts';

export function memoryStore(first?: AcmeAccount): AccountStore & { written: AcmeAccount[] } {
  const written: AcmeAccount[] = first ? [first] : [];
  return {
    written,
    read: () => Promise.resolve(written.at(-1)),
    write: async (account) => void written.push(structuredClone(account)),
  };
}
