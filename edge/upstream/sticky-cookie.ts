/**
 * The cookie by which a client of a sticky route comes back to the instance that answered it. It is between the client and the edge: it is taken out
 * of a request where its head is read, so that neither applications nor the rules of the cache ever see it.
 */

const name = 'offshoot-instance';
const mine = new RegExp(`^${name}=`);

export const stickyLine = (mark: string, scheme: 'http' | 'https') =>
  `Set-Cookie: ${name}=${mark}; Path=/; HttpOnly; SameSite=Lax${scheme === 'https' ? '; Secure' : ''}\r\n`;

/** What the edge's cookie says, and the header without it; `rest` is empty where the header held nothing else. Undefined: the cookie is not there. */
export function takeSticky(cookie: string): { mark: string; rest: string } | undefined {
  if (!cookie.includes(name)) return undefined;
  const pairs = cookie.split(';').map((pair) => pair.trim());
  const found = pairs.find((pair) => mine.test(pair));
  return found === undefined
    ? undefined
    : { mark: found.slice(name.length + 1), rest: pairs.filter((pair) => !mine.test(pair)).join('; ') };
}
