/**
 * The account at an authority. Its key is stored before the authority hears of it, and asking twice with one key is one account: so a kill at any moment
 * leaves an account that is found again.
 */
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { type Connection, publicPart, sign, type Signer } from './connection.ts';
import { AcmeRefusal } from './messages.ts';

/** Plain data. It has to be sealed, because it holds private keys. */
export interface AcmeAccount {
  /** The authority that has the account: at another one it does not count. */
  directoryUrl: string;
  key: JWK;
  /** The account's URL at the authority; absent until the authority has answered. */
  url?: string;
  /** The address that the authority knows. */
  email?: string | undefined;
  /** A new key, which the authority is being asked to take in the place of `key`. */
  nextKey?: JWK;
}

/** Where the account is kept. Only one process uses it at a time. */
export interface AccountStore {
  read(): Promise<AcmeAccount | undefined>;
  write(account: AcmeAccount): Promise<void>;
}

/** The credentials that an authority gave to the operator, where it takes only customers of its own. */
export interface ExternalAccount {
  keyId: string;
  /** In base64url. */
  hmacKey: string;
}

export interface AccountOptions {
  directoryUrl: string;
  store: AccountStore;
  email?: string;
  externalAccount?: ExternalAccount;
}

/** The authority does not let this account work. */
export class AccountRefused extends Error {}

export function openAccounts(connection: Connection, options: AccountOptions) {
  const { store, directoryUrl, email } = options;
  const write = async (account: Omit<AcmeAccount, 'directoryUrl'>): Promise<AcmeAccount> => {
    await store.write({ directoryUrl, ...account });
    return { directoryUrl, ...account };
  };
  const read = async () => {
    const account = await store.read();
    return account?.directoryUrl === directoryUrl ? account : undefined;
  };

  const ensure = async (signal?: AbortSignal): Promise<Signer & { account: string }> => {
    const known = (await read()) ?? (await write({ key: await newAccountKey() }));
    const { key, url, email: knownEmail } = known.nextKey ? await rollOver(known, signal) : known;
    if (url === undefined) return register({ key }, signal);
    if (knownEmail !== email) {
      await connection.post(url, { key, account: url }, { contact: contactOf(email) }, signal);
      await write({ key, url, email });
    }
    return { key, account: url };
  };

  const register = async ({ key }: Pick<AcmeAccount, 'key'>, signal?: AbortSignal): Promise<Signer & { account: string }> => {
    try {
      const url = await askForAccount(connection, key, options, signal);
      await write({ key, url, email });
      return { key, account: url };
    } catch (error) {
      if (!isDeactivated(error)) throw error;
      return register(await write({ key: await newAccountKey() }), signal);
    }
  };

  /** A process that was killed may have been heard by the authority: then the new key is the account's already. */
  const rollOver = async ({ key, url, nextKey, email: known }: AcmeAccount, signal?: AbortSignal): Promise<AcmeAccount> => {
    if (!nextKey) return { directoryUrl, key };
    const found = await find(connection, nextKey, signal);
    if (found !== undefined) return write({ key: nextKey, url: found, email: known });
    if (url === undefined) return { directoryUrl, key };
    const { keyChange } = await connection.directory(signal);
    const inner = await sign({ account: url, oldKey: publicPart(key) }, nextKey, { jwk: publicPart(nextKey), url: keyChange });
    await connection.post(keyChange, { key, account: url }, inner, signal);
    return write({ key: nextKey, url, email: known });
  };

  return {
    ensure,
    /** To be called when the authority does not know the account: its URL is forgotten, and asked for again with the same key, or with the next one. */
    forget: async () => {
      const account = await read();
      if (account) await write({ key: account.key, ...(account.nextKey && { nextKey: account.nextKey }) });
    },
    changeKey: async (signal?: AbortSignal) => {
      const { key, account: url } = await ensure(signal);
      await rollOver(await write({ key, url, email, nextKey: await newAccountKey() }), signal);
    },
    deactivate: async (signal?: AbortSignal) => {
      const signer = await ensure(signal);
      await connection.post(signer.account, signer, { status: 'deactivated' }, signal);
      await write({ key: await newAccountKey() });
    },
  };
}

export type Accounts = ReturnType<typeof openAccounts>;

async function newAccountKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return exportJWK(privateKey);
}

async function askForAccount(
  connection: Connection,
  key: JWK,
  { email, externalAccount }: AccountOptions,
  signal?: AbortSignal,
): Promise<string> {
  const { newAccount, meta } = await connection.directory(signal);
  if (meta?.externalAccountRequired && !externalAccount)
    throw new AccountRefused('This authority takes only customers of its own: set the key id and the key (EAB) that it gave you.');
  const payload = {
    termsOfServiceAgreed: true,
    contact: contactOf(email),
    ...(externalAccount && { externalAccountBinding: await bindingOf(externalAccount, key, newAccount) }),
  };
  const { location } = await connection.post(newAccount, { key }, payload, signal);
  if (location === undefined) throw new AccountRefused('The authority made an account and did not say where it is.');
  return location;
}

const contactOf = (email: string | undefined) => (email === undefined ? [] : [`mailto:${email}`]);

/** The account's public key, signed with the secret that the authority gave to the operator. */
const bindingOf = ({ keyId, hmacKey }: ExternalAccount, key: JWK, url: string) =>
  sign(publicPart(key), { kty: 'oct', k: hmacKey }, { kid: keyId, url });

/** The URL of the account that has this key; undefined where the authority knows none. */
async function find(connection: Connection, key: JWK, signal?: AbortSignal): Promise<string | undefined> {
  const { newAccount } = await connection.directory(signal);
  try {
    return (await connection.post(newAccount, { key }, { onlyReturnExisting: true }, signal)).location;
  } catch (error) {
    if (error instanceof AcmeRefusal && error.type === 'accountDoesNotExist') return undefined;
    throw error;
  }
}

/** An account that this platform deactivated earlier is replaced by a new one. One that the authority revoked is a matter for people. */
const isDeactivated = (error: unknown) =>
  error instanceof AcmeRefusal && error.type === 'unauthorized' && /deactivated/i.test(error.message);
