/**
 * Lists of the API that come in pages, read to their end, with what their items mention. A page links to what it mentions, in short:
 * `ref:users:0`, `ref:users:1` and so on.
 */
import { hrefOf, type Resource } from './link.ts';
import { request } from './request.ts';
import type { Person } from './resources.ts';

/** Lists are read to their end, but for those that are longer than anybody would look through. */
const pagesMax = 20;

interface Page<Item> extends Resource {
  items: readonly Item[];
}

interface Listed<Item, Mentioned> {
  items: readonly Item[];
  /** What the items mention, by id. */
  mentioned: Readonly<Record<string, Mentioned>>;
  /** There are more than were read. */
  isCut: boolean;
}

type Kind = 'users' | 'teams';

/** The address of a list, in pages of a size that every list allows. */
export const largePages = (href: string | undefined) => `${href}${href?.includes('?') ? '&' : '?'}page[size]=100`;

export async function everyPageWith<Item, Mentioned>(
  kind: Kind,
  first: string,
  signal: AbortSignal,
  most = pagesMax,
): Promise<Listed<Item, Mentioned>> {
  const items: Item[] = [];
  const mentioned: Record<string, Mentioned> = {};
  let href: string | undefined = first;
  for (let pages = 0; href !== undefined && pages < most; pages++) {
    const page: Page<Item> = await request('GET', href, undefined, signal);
    items.push(...page.items);
    Object.assign(mentioned, await mentionedOn<Mentioned>(page, kind, signal));
    href = hrefOf(page, 'next');
  }
  return { items, mentioned, isCut: href !== undefined };
}

async function mentionedOn<Mentioned>(page: Resource, kind: Kind, signal: AbortSignal): Promise<Record<string, Mentioned>> {
  const references = Object.keys(page._links).filter((rel) => rel.startsWith(`ref:${kind}:`));
  const sets = references.map((rel) => request<Record<string, Mentioned>>('GET', hrefOf(page, rel) ?? '', undefined, signal));
  return Object.assign({}, ...(await Promise.all(sets))) as Record<string, Mentioned>;
}

export interface WithPeople<Item> {
  items: readonly Item[];
  /** What the people that the items mention are called, by their ids. */
  people: Readonly<Record<string, Person>>;
  isCut: boolean;
}

export async function everyPage<Item>(first: string, signal: AbortSignal, most?: number): Promise<WithPeople<Item>> {
  const { mentioned: people, ...list } = await everyPageWith<Item, Person>('users', first, signal, most);
  return { ...list, people };
}

export const peopleOf = (page: Resource, signal: AbortSignal) => mentionedOn<Person>(page, 'users', signal);
