/** Pages that include others, to clients of HTTP/2 and from programs behind FastCGI. */
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { answerTo, environmentOf, openTestEdge, upstreamRoute } from '../testing/edge.ts';
import { openPhp } from '../testing/php.ts';
import { openSecureTestEdge } from '../testing/secure-edge.ts';
import { openHttpUpstream } from '../testing/upstream.ts';

const authority = testAuthority();

test('over HTTP/2 each stream has its page put together, beside the others', async () => {
  const upstream = await openHttpUpstream((request, response) => {
    const number = request.url?.split('/').at(-1);
    const page = request.url?.startsWith('/part/') ? `PART ${number}` : `<p><!--#include virtual="/part/${number}" --></p>`;
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
  const routes = [upstreamRoute('a.test', '/', { scheme: 'https', original_url: 'https://{default}/', ssi: true })];
  await using made = await openSecureTestEdge([environmentOf([upstream.instance], { routes })]);
  made.present('a', ['a.test'], authority.issue(['a.test']));
  const session = connect(`https://a.test:${made.securePort}`, {
    ca: authority.certificate,
    servername: 'a.test',
    host: '127.0.0.1',
  } as object);
  const ask = async (path: string, method = 'GET') => {
    const stream = session.request({ ':authority': 'a.test', ':path': path, ':method': method });
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return { status: headers[':status'], length: headers['content-length'], body: await text(stream) };
  };
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  expect(await Promise.all(numbers.map((number) => ask(`/page/${number}`)))).toEqual(
    numbers.map((number) => ({ status: 200, length: undefined, body: `<p>PART ${number}</p>` })),
  );
  expect(await ask('/page/1', 'HEAD')).toMatchObject({ status: 200, body: '' });
  const left = session.request({ ':authority': 'a.test', ':path': '/page/1' });
  left.close();
  expect((await ask('/page/2')).body).toBe('<p>PART 2</p>');
  session.destroy();
  await upstream.close();
});

test('a program behind FastCGI that answers one request at a time has its pages put together', async () => {
  await using php = await openPhp({
    'index.php': `<?php if (isset($_GET['part'])) { echo 'PART ', $_GET['part'], ' of ', $_SERVER['REQUEST_URI']; exit; }
      echo '<p><!--#include virtual="/?part=1" -->|<!--#include virtual="/foot.html" -->|<!--#include virtual="/?part=2" --></p>';`,
    'foot.html': 'FOOT',
  });
  const routes = [upstreamRoute('app.test', '/', { ssi: true })];
  await using made = await openTestEdge([environmentOf([], { routes, upstreams: { 'app:http': php.upstream } })]);
  const answer = await answerTo(made.port, 'GET /some/page HTTP/1.0\r\nHost: app.test\r\n\r\n');
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe('<p>PART 1 of /?part=1|FOOT|PART 2 of /?part=2</p>');
  expect(made.records).toMatchObject([{ path: '/some/page', status: 200, note: null }]);
});
