/** Repositories of a folder over HTTP, as a code host serves them, for tests: by Git's own backend, on loopback. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * What is below `/elsewhere/` is redirected; `visits` are the paths that were asked for. A server that speaks only the oldest protocol gives out what
 * it announced and nothing else.
 */
export async function serveRepositories(folder: string, speaks: 'every protocol' | 'the oldest protocol' = 'every protocol') {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    const { url = '/', method = 'GET', headers } = request;
    visits.push(url);
    if (url.startsWith('/elsewhere/')) return void response.writeHead(302, { location: url.replace('/elsewhere/', '/') }).end();
    const backend = startBackend(folder, url, method, headers['content-type'], speaks === 'every protocol' ? headers['git-protocol'] : '');
    request.pipe(backend.stdin);
    backend.stdin.on('error', () => {});
    void buffer(backend.stdout).then((answer) => {
      const end = answer.indexOf('\r\n\r\n');
      // Who asked went away before all was said.
      if (end < 0) return void response.destroy();
      const fields = answer
        .subarray(0, end)
        .toString('latin1')
        .split('\r\n')
        .map((line) => line.split(': ', 2) as [string, string]);
      const status = Number(fields.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? 200);
      response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name !== 'Status'))).end(answer.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    visits,
    urlOf: (path: string) => `http://127.0.0.1:${port}/${path}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function startBackend(folder: string, url: string, method: string, type = '', protocol: string | string[] = '') {
  const [pathInfo = '', query = ''] = url.split('?');
  const env = {
    PATH: process.env['PATH'] ?? '',
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: pathInfo,
    QUERY_STRING: query,
    REQUEST_METHOD: method,
    CONTENT_TYPE: type,
    GIT_PROTOCOL: String(protocol),
    GIT_CONFIG_NOSYSTEM: '1',
    HOME: '/nonexistent',
  };
  return spawn('git', ['-c', 'safe.directory=*', 'http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
}
