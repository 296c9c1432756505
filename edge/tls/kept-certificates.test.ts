import { globSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Problem } from '../../server/kernel/problem.ts';
import { startApplication } from '../testing/application.ts';
import { testAuthority } from '../testing/certificates.ts';
import { freePort } from '../testing/ports.ts';
import { environmentWith, startRunningEdge } from '../testing/running-edge.ts';

const authority = testAuthority();

function ask(port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, servername: host, headers: { host }, ca: authority.certificate, agent: false }, (reply) => {
      let body = '';
      reply.setEncoding('utf8').on('data', (text: string) => (body += text));
      reply.on('end', () => resolve(body));
    }).on('error', reject);
  });
}

/** Until the process that was killed has been replaced. */
async function answers(port: number, host: string) {
  await expect.poll(() => ask(port, host).catch((error: unknown) => String(error)), { timeout: 30_000 }).toBe('one');
}

test('certificates outlive processes and upgrades of the edge, and no disk ever has a key in the clear', async () => {
  const [plain, secure] = [await freePort(), await freePort()];
  await using one = await startApplication('one');
  await using running = await startRunningEdge({
    listeners: [
      { host: '127.0.0.1', port: plain, scheme: 'http' },
      { host: '127.0.0.1', port: secure, scheme: 'https' },
    ],
  });
  const environment = environmentWith('shop', 1, [one.instance]);
  const [route] = environment.routes;
  if (!route) throw new Error('no route');
  await running.edge.put({ ...environment, routes: [{ ...route, scheme: 'https' }] });
  const { certificate, key } = authority.issue(['shop.localhost']);
  const told = { id: 'shop', version: 7, names: ['shop.localhost'], certificate, chain: [], key };
  await running.edge.putCertificate(told);
  expect(await ask(secure, 'shop.localhost')).toBe('one');
  expect(await running.edge.certificates()).toEqual({ shop: 7 });

  const files = globSync('**/*', { cwd: running.options.folder, withFileTypes: true }).filter((file) => file.isFile());
  const secrets = key.split('\n').slice(1, -2);
  const inTheClear = files.filter((file) => {
    const text = readFileSync(join(file.parentPath, file.name), 'latin1');
    return secrets.some((line) => text.includes(line));
  });
  expect(inTheClear).toEqual([]);

  const { processes } = await running.edge.status();
  process.kill(processes[0]?.pid ?? 0, 'SIGKILL');
  await answers(secure, 'shop.localhost');
  process.kill((await running.edge.status()).pid, 'SIGKILL');
  await answers(secure, 'shop.localhost');
  await running.reopen({ routerName: 'another' });
  expect(await ask(secure, 'shop.localhost')).toBe('one');
  expect(await running.edge.certificates()).toEqual({ shop: 7 });

  const refused = running.edge.putCertificate({ ...told, version: 8, key: authority.issue(['other.localhost']).key });
  await expect(refused).rejects.toThrow(Problem);
  await expect(refused).rejects.toThrow(/key values mismatch/);
  expect(await running.edge.keepOnlyCertificates([])).toEqual(['shop']);
  await expect(ask(secure, 'shop.localhost')).rejects.toThrow(/alert|disconnected|ECONNRESET/i);
});
