/**
 * A client that writes without pause and keeps a ledger of what it was promised, until the platform stops answering. Afterwards the ledger
 * is held against what the platform still knows: each promise kept, and of the requests that were cut off, all of it or nothing.
 */
import { expect } from 'vitest';
import { accessToken, type Reply, send } from './api.ts';

export interface Ledger {
  /** API tokens that exist, by id, with their secret. */
  readonly tokens: Map<string, string>;
  readonly deletedTokens: Set<string>;
  /** Requests without an answer: names of tokens to be created, ids of tokens to be deleted. */
  readonly unsure: Set<string>;
  /** What the parts of the profile were last set to together, and what was last asked for. */
  profile: number;
  profileAsked: number;
  acknowledged: number;
}

export const emptyLedger = (): Ledger => ({
  tokens: new Map(),
  deletedTokens: new Set(),
  unsure: new Set(),
  profile: 0,
  profileAsked: 0,
  acknowledged: 0,
});

export interface Client {
  url: string;
  userId: string;
  accessToken: string;
}

export async function signInAsClient(url: string, apiToken: string): Promise<Client> {
  const token = await accessToken(url, apiToken);
  const { json } = await send(url, token, 'GET', '/users/me');
  return { url, userId: json.id, accessToken: token };
}

/** At most so many tokens at a time, so that there is always room for more. */
const tokensMax = 20;
const namePrefix = 'written';
let namesSoFar = 0;

/** Settles when the platform no longer answers, or when it is over. */
export async function write(client: Client, ledger: Ledger, over = new AbortController().signal): Promise<void> {
  await Promise.all([writeTokens(client, ledger, over), writeTokens(client, ledger, over), writeProfile(client, ledger, over)]);
}

async function writeTokens(client: Client, ledger: Ledger, over: AbortSignal) {
  while (!over.aborted) {
    const name = `${namePrefix} ${++namesSoFar}`;
    ledger.unsure.add(name);
    const created = await attempt(client, ledger, 'POST', tokensOf(client), { name });
    if (!created) return;
    ledger.tokens.set(created.json.id, created.json.token);
    ledger.unsure.delete(name);
    if (ledger.tokens.size <= tokensMax) continue;
    const oldest = [...ledger.tokens.keys()].find((id) => !ledger.unsure.has(id)) ?? '';
    ledger.unsure.add(oldest);
    if (!(await attempt(client, ledger, 'DELETE', `${tokensOf(client)}/${oldest}`))) return;
    ledger.tokens.delete(oldest);
    ledger.unsure.delete(oldest);
    ledger.deletedTokens.add(oldest);
  }
}

async function writeProfile(client: Client, ledger: Ledger, over: AbortSignal) {
  while (!over.aborted) {
    const text = String(++ledger.profileAsked);
    const changes = { first_name: text, last_name: text, company: text };
    if (!(await attempt(client, ledger, 'PATCH', `/users/${client.userId}`, changes))) return;
    ledger.profile = ledger.profileAsked;
  }
}

const tokensOf = ({ userId }: Client) => `/users/${userId}/api-tokens`;

/** Undefined when the platform did not promise anything: no answer, or one that says it failed. */
async function attempt({ url, accessToken }: Client, ledger: Ledger, method: string, path: string, body?: unknown) {
  let reply: Reply;
  try {
    reply = await send(url, accessToken, method, path, body);
  } catch {
    return undefined;
  }
  if (reply.status >= 500) return undefined;
  if (reply.status >= 400) throw new Error(`${method} ${path} was refused: ${reply.status} ${JSON.stringify(reply.json)}`);
  ledger.acknowledged++;
  return reply;
}

/** Then deletes the tokens. The access token of before is used on purpose: it too was promised, for 15 minutes. */
export async function expectKept(client: Client, ledger: Ledger): Promise<void> {
  const { url, accessToken: token } = client;
  const profile = (await send(url, token, 'GET', '/users/me')).json;
  expect([profile.first_name, profile.company]).toEqual([profile.last_name, profile.last_name]);
  expect(Number(profile.company)).toBeOneOf([ledger.profile, ledger.profileAsked]);
  // Whatever became of what was asked for last: that is what it is now, should the next round change nothing.
  ledger.profile = Number(profile.company);

  const found: { id: string; name: string }[] = (await send(url, token, 'GET', tokensOf(client))).json;
  const ids = new Set(found.map(({ id }) => id));
  expect([...ledger.tokens.keys()].filter((id) => !ids.has(id) && !ledger.unsure.has(id))).toEqual([]);
  expect([...ledger.deletedTokens].filter((id) => ids.has(id))).toEqual([]);
  const written = found.filter(({ name }) => name.startsWith(namePrefix));
  expect(written.filter(({ id, name }) => !ledger.tokens.has(id) && !ledger.unsure.has(name))).toEqual([]);
  const [, secret] = [...ledger.tokens].findLast(([id]) => ids.has(id)) ?? [];
  if (secret !== undefined) await accessToken(url, secret);
  for (const { id } of written) expect((await send(url, token, 'DELETE', `${tokensOf(client)}/${id}`)).status).toBe(204);
}

/** For the next round: those tokens were deleted, and what was unsure has been seen. */
export function forgetTokens(ledger: Ledger) {
  for (const id of ledger.tokens.keys()) ledger.deletedTokens.add(id);
  ledger.tokens.clear();
  ledger.unsure.clear();
}
