/** Lists come in pages. Of where the next one is, only the query is heeded: the address stays the one that was asked first. */
import { Type, type Static, type TSchema } from 'typebox';
import type { OpenPullRequests, PullRequest } from './code-host.ts';
import type { HostConnection, HostReply, HostRequest } from './host-connection.ts';
import { CodeHostFailure } from './code-host-failure.ts';

/** A list that goes on longer goes on forever. */
const pagesMax = 1000;

export interface Listed<T> {
  items: T[];
  /** Whether there are no more. */
  isWhole: boolean;
}

type Query = Readonly<Record<string, string>>;
type ReadPage<T> = (reply: HostReply) => { items: T[]; next: Query | undefined };

async function everyPage<T>(connection: HostConnection, request: HostRequest, read: ReadPage<T>): Promise<T[]> {
  const { items, isWhole } = await firstPages(connection, request, read, pagesMax);
  if (!isWhole) throw new CodeHostFailure('refused', `The host has a list of more than ${pagesMax} pages, which are too many.`);
  return items;
}

async function firstPages<T>(connection: HostConnection, request: HostRequest, read: ReadPage<T>, max: number): Promise<Listed<T>> {
  const all: T[] = [];
  let query: Query | undefined = request.query ?? {};
  for (let page = 0; query && page < max; page += 1) {
    const { items, next } = read(await connection.ask({ ...request, query }));
    all.push(...items);
    query = next;
  }
  return { items: all, isWhole: query === undefined };
}

/** Where hosts give out all of them, page by page. */
export const allOpen = (open: PullRequest[]): OpenPullRequests => ({ open, isWhole: true });

/** GitHub, GitLab and Gitea: arrays, with `Link: <…>; rel="next"`. */
export const pagesByLink = <T extends TSchema>(connection: HostConnection, request: HostRequest, item: T): Promise<Static<T>[]> => {
  const Page = Type.Array(item);
  return everyPage(connection, request, (reply) => ({ items: reply.read(Page), next: queryOf(nextLink(reply)) }));
};

function nextLink({ headers }: HostReply): string | undefined {
  const link = headers['link'];
  return typeof link === 'string' ? link.match(/<([^>]*)>\s*;[^,<]*\brel="?next"?/i)?.[1] : undefined;
}

/** Bitbucket Cloud: `{values, next}`, where `next` is an address. */
export const pagesByAddress = <T extends TSchema>(connection: HostConnection, request: HostRequest, item: T): Promise<Static<T>[]> =>
  everyPage(connection, request, pageByAddress(item));

/** The same, and no more pages than that. */
export const firstPagesByAddress = <T extends TSchema>(
  connection: HostConnection,
  request: HostRequest,
  item: T,
  max: number,
): Promise<Listed<Static<T>>> => firstPages(connection, request, pageByAddress(item), max);

const pageByAddress = <T extends TSchema>(item: T): ReadPage<Static<T>> => {
  const Page = Type.Object({ values: Type.Array(item), next: Type.Optional(Type.String()) });
  return (reply) => {
    const { values, next } = reply.read(Page) as { values: Static<T>[]; next?: string };
    return { items: values, next: queryOf(next) };
  };
};

/** Bitbucket Server: `{values, isLastPage, nextPageStart}`, where that is a number. */
export const pagesByStart = <T extends TSchema>(connection: HostConnection, request: HostRequest, item: T): Promise<Static<T>[]> => {
  const Page = Type.Object({
    values: Type.Array(item),
    isLastPage: Type.Boolean(),
    nextPageStart: Type.Optional(Type.Unsafe<number | null>({})),
  });
  const read: ReadPage<Static<T>> = (reply) => {
    const { values, isLastPage, nextPageStart } = reply.read(Page) as {
      values: Static<T>[];
      isLastPage: boolean;
      nextPageStart?: number | null;
    };
    const next = isLastPage || typeof nextPageStart !== 'number' ? undefined : { ...request.query, start: String(nextPageStart) };
    return { items: values, next };
  };
  return everyPage(connection, request, read);
};

const queryOf = (address: string | undefined): Query | undefined => {
  const url = address === undefined ? null : URL.parse(address, 'https://host.invalid');
  return url ? Object.fromEntries(url.searchParams) : undefined;
};
