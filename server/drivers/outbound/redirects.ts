/** Redirects, followed as often as the caller lets them be; each leads through the same checks as the first request, within the time of all of them together. */
import { webAddress, type OpenReply, type Reply, type Request } from './exchange.ts';
import { late, OutboundFault } from './faults.ts';

type Exchange<R> = (asked: Request) => Promise<R>;

const isRedirect = new Set([301, 302, 303, 307, 308]);
/** After these the body is sent again, as it was; after the others, the next request has none. */
const keepsMethod = new Set([307, 308]);

export const following =
  <R extends Reply | OpenReply>(exchange: Exchange<R>): Exchange<R> =>
  async (asked) => {
    const begun = performance.now();
    let next = asked;
    for (let left = asked.redirectsMax ?? 0; ; left -= 1) {
      const reply = await exchange(next);
      const { location } = reply.headers;
      if (!isRedirect.has(reply.status) || location === undefined || !asked.redirectsMax) return reply;
      if (!Buffer.isBuffer(reply.body)) reply.body.destroy();
      if (left === 0) throw new OutboundFault('misled', `${new URL(next.url).host} leads on and on; give the address where it ends.`);
      next = { ...redirected(next, reply.status, location), ...restOf(asked, begun) };
    }
  };

/** What is left of the time. */
function restOf({ url, secondsMax }: Request, begun: number): Pick<Request, 'secondsMax'> {
  if (secondsMax === undefined) return {};
  const left = secondsMax - (performance.now() - begun) / 1000;
  if (left <= 0) throw late(new URL(url).host, secondsMax);
  return { secondsMax: left };
}

/** What a request carries for one server is not for another one: of the headers, only those that describe the body go along. */
function redirected(asked: Request, status: number, location: string): Request {
  const [from, to] = [new URL(asked.url), webAddress(URL.parse(location, asked.url)?.href ?? '')];
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new OutboundFault('misled', `${from.host} leads from https:// to http://, which is not followed.`);
  const { method = 'GET', headers = {}, body, ...rest } = asked;
  const isSafe = method === 'GET' || method === 'HEAD';
  const kept = from.origin === to.origin ? headers : describingBody(headers);
  if (isSafe || keepsMethod.has(status)) return { ...rest, url: to.href, method, headers: kept, ...(body !== undefined && { body }) };
  return { ...rest, url: to.href, method: 'GET', headers: kept };
}

const describingBody = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(accept|content-(type|encoding)|user-agent)$/i.test(name)));
