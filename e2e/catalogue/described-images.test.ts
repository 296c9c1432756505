/** Service types that are shipped as descriptions, tried with images of our own; with `./offshoot test catalogue` alone, because they are made of half a gigabyte each. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../server/drivers/images/oci/test-registry.ts';
import { openOutbound } from '../../server/drivers/outbound/outbound.ts';
import { canRunContainers, openTestContainers, type TestContainers, whyNoContainers } from '../../server/testing/images.ts';
import { serviceImages } from '../../server/testing/service-images.ts';
import { offerDescribed } from '../../server/catalogue/catalogue.ts';
import { describedEntry } from '../../server/catalogue/described-service.ts';
import { shippedDescriptions } from '../../server/catalogue/described-services.ts';
import { readDescription } from '../../server/catalogue/read-description.ts';
import { type Account, type Service, type ServiceCommand, relationshipOf } from '../../server/catalogue/service.ts';

interface Server {
  container: string;
  address: string;
}

const timeout = 1_200_000;
let containers: TestContainers;
let registry: TestRegistry;

async function inside(container: string, argv: readonly [string, ...string[]], stdin = '', env = {}) {
  const { code, stdout, stderr } = await containers.run(container, { argv: [...argv], stdin, env });
  if (code !== 0) throw new Error(`${argv[0]} ended with ${code}: ${stderr || stdout}`);
  return stdout.trim();
}

/** Where each version of the type is the image that was put into the registry of the test. */
async function describedOf(name: string): Promise<{ type: string; service: Service }> {
  const repository = `${name}-${Date.now().toString(36)}`;
  await registry.push(repository, 'tried', { layers: (await serviceImages[name]?.()) ?? [] });
  const description = readDescription(shippedDescriptions[name] ?? '');
  for (const version of Object.values(description.versions)) version.image = `${registry.host}/${repository}:tried`;
  const entry = describedEntry(description);
  offerDescribed({ [name]: entry });
  return { type: `${name}:${entry.versions[0]?.version}`, service: entry.service };
}

/** Sets the service up if its volume is empty, and starts it, as a deployment does. */
async function start(container: string, type: string, service: Service, volume: string): Promise<Server> {
  const { layers } = await containers.images.ensure(type);
  const { env, writable, probe, stop, initialised, initialise, dataAt = '' } = service;
  const mounts = [{ from: volume, at: dataAt, writable: true }];
  if (initialised !== undefined && !existsSync(join(volume, initialised))) {
    await containers.start({ name: container, layers, argv: ['sleep', 'infinity'], env, writable, mounts });
    await perform(container, initialise);
    await containers.runtime.remove(container);
  }
  const limits = { ...containers.limits, memoryBytes: 2 ** 30 };
  const argv = service.start({ limits, configuration: {}, host: 'localhost', apps: {} });
  const { address = '' } = await containers.start({ name: container, layers, argv, env, writable, mounts, limits, probe, stop });
  return { container, address };
}

async function perform(container: string, commands: readonly ServiceCommand[]) {
  for (const { argv, stdin } of commands) await inside(container, argv, stdin);
}

describe.runIf(canRunContainers)(
  `described services with images of our own${whyNoContainers} (only with ./offshoot test catalogue)`,
  { timeout },
  () => {
    beforeAll(async () => {
      registry = await openTestRegistry();
      containers = await openTestContainers({
        outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }),
        plainRegistries: [registry.host],
      });
    }, timeout);
    afterAll(async () => {
      offerDescribed({});
      await containers.close();
      await registry.stop();
    });

    test('oracle-mysql keeps what its users write, lets in nobody else, and is cloned', async () => {
      const { type, service } = await describedOf('oracle-mysql');
      const volume = await containers.volume('mysql');
      const sql = ({ container, address }: Server, { name, password }: Account, database: string, statements: string) =>
        inside(
          container,
          ['mysql', '--no-defaults', '--batch', '--skip-column-names', '--protocol=tcp', `--host=${address}`, `--user=${name}`, database],
          statements,
          { MYSQL_PWD: password },
        );
      const tell = (container: string, databases: string[], ...accounts: Account[]) =>
        perform(container, service.access?.({ databases, accounts }) ?? []);
      const owner: Account = { name: 'user', password: 'one-Password_1', privileges: { main: 'admin', with_under: 'rw' } };
      const reader: Account = { name: 'reader', password: 'two', privileges: { main: 'ro' } };
      const server = await start('mysql', type, service, volume);
      await tell('mysql', ['main', 'with_under', 'withXunder'], owner, reader);
      await tell('mysql', ['main', 'with_under', 'withXunder'], owner, reader);
      await sql(server, owner, 'main', "create table notes (note varchar(20)); insert into notes values ('Grüße');");
      expect(await sql(server, reader, 'main', 'select note from notes;')).toBe('Grüße');
      await expect(sql(server, reader, 'main', "insert into notes values ('x');")).rejects.toThrow('denied');
      await expect(sql(server, owner, 'with_under', 'create table notes (note varchar(20));')).rejects.toThrow('denied');
      await expect(sql(server, owner, 'withXunder', 'select 1;')).rejects.toThrow('denied');
      await expect(sql(server, { ...owner, name: 'root', password: '' }, 'mysql', 'select 1;')).rejects.toThrow('denied');
      await tell('mysql', ['main'], owner);
      await expect(sql(server, reader, 'main', 'select 1;')).rejects.toThrow('denied');
      await expect(sql(server, owner, 'with_under', 'select 1;')).rejects.toThrow(/denied|Unknown database/);

      await perform('mysql', service.quiesce);
      const clone = await containers.clone('mysql', 'mysql-clone');
      await perform('mysql', service.resume);
      await containers.runtime.remove('mysql');
      expect(await sql(await start('mysql', type, service, volume), owner, 'main', 'select note from notes;')).toBe('Grüße');
      const cloned = await start('mysql-clone', type, service, clone);
      const heir = { ...owner, password: 'three' };
      await tell('mysql-clone', ['main'], heir);
      expect(await sql(cloned, heir, 'main', 'select note from notes;')).toBe('Grüße');
      await expect(sql(cloned, owner, 'main', 'select 1;')).rejects.toThrow('denied');
      for (const each of ['mysql', 'mysql-clone']) await containers.runtime.remove(each);
    });

    test('opensearch finds what was stored, also after a restart and in a clone', async () => {
      const { type, service } = await describedOf('opensearch');
      const volume = await containers.volume('opensearch', 2 ** 31);
      const ask = async ({ address }: Server, method: string, path: string, body?: object) => {
        const headers = { 'content-type': 'application/json' };
        const reply = await fetch(`http://${address}:9200${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        return (await reply.json()) as { version?: { number: string }; hits?: { hits: { _source: unknown }[] }; result?: string };
      };
      const found = async (server: Server) => (await ask(server, 'GET', '/notes/_search?q=offshoots')).hits?.hits.map((hit) => hit._source);
      const server = await start('opensearch', type, service, volume);
      expect((await ask(server, 'GET', '/')).version?.number).toBe('3.6.0');
      const note = { text: 'one of many offshoots' };
      expect((await ask(server, 'PUT', '/notes/_doc/1?refresh=true', note)).result).toBe('created');
      expect(await found(server)).toEqual([note]);
      // Nobody has refreshed the index by then: what was acknowledged counts.
      await ask(server, 'PUT', '/notes/_doc/2', note);
      await perform('opensearch', service.quiesce);
      const clone = await containers.clone('opensearch', 'opensearch-clone');
      await perform('opensearch', service.resume);
      await containers.runtime.remove('opensearch');
      expect(await found(await start('opensearch', type, service, volume))).toEqual([note, note]);
      await containers.runtime.remove('opensearch');
      expect(await found(await start('opensearch-clone', type, service, clone))).toEqual([note, note]);
      await containers.runtime.remove('opensearch-clone');
      expect(relationshipOf(service.relationship)).toMatchObject({ rel: 'opensearch', scheme: 'http', port: 9200 });
    });
  },
);
