import { expect, test } from 'vitest';
import { answerTo, environmentOf, openTestEdge, upstreamRoute } from '../testing/edge.ts';
import { always, openRawUpstream, until } from '../testing/upstream.ts';

const hello = always('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
const asking = (headers = '') => `GET / HTTP/1.1\r\nHost: app.test\r\n${headers}\r\n`;

test('with sticky, an address stays with its instance', async () => {
  const upstreams = await Promise.all(['a', 'b', 'c'].map((id) => openRawUpstream(hello, id)));
  const instances = upstreams.map(({ instance }) => instance);
  const route = upstreamRoute('app.test', '/', { sticky: true });
  await using made = await openTestEdge([environmentOf(instances, { routes: [route] })], {}, { trustedProxies: ['127.0.0.1'] });
  const instanceFor = async (address: string) => {
    const count = made.records.length;
    await answerTo(made.port, asking(`X-Forwarded-For: ${address}\r\n`), 15);
    await until(() => made.records.length > count);
    return made.records.at(-1)?.instance;
  };
  const chosen = new Map<string, unknown>();
  for (let index = 0; index < 12; index++) chosen.set(`198.51.100.${index}`, await instanceFor(`198.51.100.${index}`));
  for (const [address, instance] of chosen) expect(await instanceFor(address)).toBe(instance);
  expect(new Set(chosen.values()).size).toBe(3);
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

test('with sticky, the cookie that an instance was given decides while it is there; the application never sees it', async () => {
  const upstreams = await Promise.all(['a', 'b', 'c'].map((id) => openRawUpstream(hello, id)));
  const instances = upstreams.map(({ instance }) => instance);
  const sticky = upstreamRoute('app.test', '/', { sticky: true });
  await using made = await openTestEdge([environmentOf(instances, { routes: [sticky] })], {}, { trustedProxies: ['127.0.0.1'] });
  const ask = async (headers: string) => {
    const count = made.records.length;
    const answer = await answerTo(made.port, asking(headers), 15);
    await until(() => made.records.length > count);
    return { instance: made.records.at(-1)?.instance, cookie: /^Set-Cookie: (offshoot-instance=[\w-]{16});(.*)$/m.exec(answer) };
  };
  const first = await ask('X-Forwarded-For: 198.51.100.1\r\n');
  expect(first.cookie?.[2]?.trim()).toBe('Path=/; HttpOnly; SameSite=Lax');
  const cookie = first.cookie?.[1] ?? '';
  for (let index = 0; index < 8; index++) {
    const again = await ask(
      `X-Forwarded-For: 198.51.100.${index}\r\nCookie: x=y; ${cookie}; offshoot-instance=other; z=1\r\nCookie: ${cookie}\r\n`,
    );
    expect(again).toEqual({ instance: first.instance, cookie: null });
  }
  expect(upstreams.flatMap(({ received }) => received).join('')).not.toContain('offshoot-instance');
  expect(upstreams.find(({ instance }) => instance.id === first.instance)?.received.join('')).toContain('Cookie: x=y; z=1\r\n');
  made.table.put(
    environmentOf(
      instances.filter(({ id }) => id !== first.instance),
      { routes: [sticky] },
    ),
  );
  const moved = await ask(`Cookie: ${cookie}\r\n`);
  expect(moved.instance).not.toBe(first.instance);
  expect(moved.cookie?.[1]).not.toBe(cookie);
  expect((await ask('Cookie: offshoot-instance=forged\r\n')).cookie).not.toBeNull();
  made.table.put(environmentOf(instances));
  expect((await ask('')).cookie).toBeNull();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});
