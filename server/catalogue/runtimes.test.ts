import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainers, openTestContainers, type TestContainers, testImagesFolder, whyNoContainers } from '../testing/images.ts';
import { authorityVariables } from '../drivers/authorities.ts';
import { openImages } from '../drivers/images/cached-images.ts';
import { triedTypes } from '../testing/tried-types.ts';
import { catalogue, nameOfType, runtimeOfType, versionOfType } from './catalogue.ts';
import { phpExtensions, phpScanPath } from './runtimes/php-extensions.ts';

const buildMillisecondsMax = 600_000;

function selfSigned(host: string): { certificate: string; key: string } {
  const made = ['-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  const text = execFileSync('openssl', ['req', '-x509', ...made, '-keyout', '-', '-out', '-'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [key = '', certificate = ''] = text.match(/-----BEGIN [A-Z ]+-----[\s\S]+?-----END [A-Z ]+-----\n/g) ?? [];
  return { certificate, key };
}

interface Program {
  /** Says its version. */
  version: string[];
  /** Programs that come with it; `{version}` is that of the type. */
  tools?: string[][];
  /** Gets the source as its standard input, and says hello. */
  hello: [string, ...string[]];
  source: string;
}

/** By type; what is not in the catalogue any more, or not in here, fails. */
const programs: Record<string, Program> = {
  nodejs: {
    version: ['node', '--version'],
    tools: [
      ['npm', '--version'],
      ['npx', '--version'],
      ['corepack', '--version'],
      ['git', '--version'],
      ['g++', '--version'],
      ['python3', '--version'],
    ],
    hello: ['node', '-'],
    source: 'console.log(`hello ${[2, 3].map((n) => n * 7).join()}`)',
  },
  python: {
    version: ['python3', '--version'],
    tools: [
      ['pip3', '--version'],
      ['python3', '-m', 'venv', '/tmp/venv'],
      ['/tmp/venv/bin/pip', '--version'],
    ],
    hello: ['python3', '-'],
    source: "import ssl, sqlite3\nprint('hello', ','.join(str(n * 7) for n in (2, 3)))",
  },
  php: {
    version: ['php', '--version'],
    tools: [
      ['composer', '--version'],
      ['php-fpm{version}', '--version'],
    ],
    hello: ['php'],
    source: `<?php
      foreach (['pdo_pgsql', 'pdo_mysql', 'pdo_sqlite', 'redis', 'gd', 'intl', 'mbstring', 'xml', 'curl', 'zip', 'Zend OPcache', 'bcmath'] as $name)
        if (!extension_loaded($name)) echo "missing $name ";
      echo 'hello ', implode(',', array_map(fn ($n) => $n * 7, [2, 3])), "\\n";`,
  },
  ruby: {
    version: ['ruby', '--version'],
    tools: [
      ['bundle', '--version'],
      ['gem', '--version'],
    ],
    hello: ['ruby', '-'],
    source: "require 'openssl'\nputs \"hello #{[2, 3].map { |n| n * 7 }.join(',')}\"",
  },
  bun: {
    version: ['bun', '--version'],
    tools: [['bunx', '--version']],
    hello: ['bun', 'run', '-'],
    source: 'const seven: number = 7; console.log(`hello ${[2, 3].map((n) => n * seven).join()}`)',
  },
  deno: {
    version: ['deno', '--version'],
    hello: ['deno', 'run', '-'],
    source: 'const seven: number = 7; console.log(`hello ${[2, 3].map((n) => n * seven).join()}`)',
  },
  golang: {
    version: ['go', 'version'],
    hello: ['sh', '-c', 'cat >/tmp/hello.go && HOME=/tmp go run /tmp/hello.go'],
    source: 'package main\nimport "fmt"\nfunc main() { fmt.Printf("hello %d,%d\\n", 2*7, 3*7) }',
  },
  java: {
    version: ['java', '--version'],
    tools: [['mvn', '--version']],
    hello: ['sh', '-c', 'cat >/tmp/Hello.java && java /tmp/Hello.java'],
    source: 'class Hello { public static void main(String[] a) { System.out.println("hello " + 2 * 7 + "," + 3 * 7); } }',
  },
  elixir: {
    version: ['elixir', '--version'],
    tools: [['mix', '--version']],
    hello: ['sh', '-c', 'cat >/tmp/hello.exs && elixir /tmp/hello.exs'],
    source: 'IO.puts("hello #{Enum.map_join([2, 3], ",", &(&1 * 7))}")',
  },
  rust: {
    version: ['rustc', '--version'],
    tools: [['cargo', '--version']],
    hello: ['sh', '-c', 'cat >/tmp/hello.rs && rustc -o /tmp/hello /tmp/hello.rs && /tmp/hello'],
    source: 'fn main() { println!("hello {},{}", 2 * 7, 3 * 7) }',
  },
  static: {
    version: ['sh', '-c', 'echo version 1'],
    hello: ['sh'],
    source: 'echo hello $((2 * 7)),$((3 * 7))',
  },
};

const runtimeTypes = triedTypes(catalogue).filter(runtimeOfType);

describe.runIf(canRunContainers)(`images of runtimes${whyNoContainers}`, () => {
  let containers: TestContainers;
  beforeAll(async () => {
    containers = await openTestContainers();
  });
  afterAll(() => containers.close());

  test.for(runtimeTypes)(
    '%s runs a program as an unprivileged user who can change nothing of it',
    { timeout: buildMillisecondsMax },
    async (type) => {
      const [name = '', version = ''] = type.split(':');
      const program = programs[name];
      expect(program, `what to try ${name} with`).toBeDefined();
      if (!program) return;
      const { layers } = await containers.images.ensure(type);
      const container = `app-${type.replace(/[^a-z0-9]/g, '-')}`;
      const env = runtimeOfType(type)?.env;
      await containers.start({ name: container, layers, argv: ['sleep', 'infinity'], env: { HOME: '/tmp', LANG: 'C.UTF-8', ...env } });
      const say = async (argv: string[], stdin = '') => {
        const [command = '', ...args] = argv;
        const { code, stdout, stderr } = await containers.run(container, { argv: [command, ...args], stdin });
        expect({ argv, code, stderr: code === 0 ? '' : stderr }).toEqual({ argv, code: 0, stderr: '' });
        return stdout;
      };

      expect(await say(program.version)).toContain(version);
      for (const tool of program.tools ?? []) await say(tool.map((part) => part.replace('{version}', version)));
      expect(await say(program.hello, program.source)).toContain('hello 14,21');
      expect(await say(['id'])).toContain('uid=1000(app) gid=1000(app)');
      expect(await containers.run(container, { argv: ['touch', '/usr/bin/sh', '/etc/passwd'] })).toMatchObject({ code: 1 });
      await containers.runtime.remove(container);
    },
  );

  const phpTypes = runtimeTypes.filter((type) => nameOfType(type) === 'php');
  test.for(phpTypes)(
    '%s has the extensions that are named, and those that were asked for',
    { timeout: buildMillisecondsMax },
    async (type) => {
      const { layers } = await containers.images.ensure(type);
      await containers.start({ name: 'php', layers, argv: ['sleep', 'infinity'] });
      const { builtIn, usual, others } = phpExtensions(versionOfType(type));
      const loaded = async (scanned: string) => {
        const script = 'echo json_encode(array_map("strtolower", get_loaded_extensions()));';
        const { stdout, stderr } = await containers.run('php', { argv: ['php', '-r', script], env: { PHP_INI_SCAN_DIR: scanned } });
        expect(stderr).toBe('');
        return new Set((JSON.parse(stdout) as string[]).map((name) => (name === 'zend opcache' ? 'opcache' : name)));
      };
      const none = { extensions: [], disabled_extensions: [] };
      const byDefault = await loaded(phpScanPath(none));
      expect([...builtIn, ...usual].filter((name) => !byDefault.has(name))).toEqual([]);
      expect(others.filter((name) => byDefault.has(name))).toEqual([]);
      const composer = { argv: ['composer', '--version'], env: { PHP_INI_SCAN_DIR: phpScanPath(none), HOME: '/tmp' } } as const;
      expect(await containers.run('php', composer)).toMatchObject({ code: 0, stdout: expect.stringContaining('Composer') });
      const all = await loaded(phpScanPath({ ...none, extensions: others.map((name) => ({ name })) }));
      expect([...builtIn, ...usual, ...others].filter((name) => !all.has(name))).toEqual([]);
      const fewest = await loaded(phpScanPath({ extensions: [{ name: 'memcached' }], disabled_extensions: usual }));
      expect([...fewest].filter((name) => [...usual, ...others].includes(name)).toSorted()).toEqual(['igbinary', 'memcached', 'msgpack']);
      const alone = [...usual, ...others].map((name) => `${phpScanPath({ extensions: [{ name }], disabled_extensions: usual })}\n`);
      const complaints = 'while read -r path; do PHP_INI_SCAN_DIR=$path php -r "" 2>&1; done';
      expect(await containers.run('php', { argv: ['dash', '-c', complaints], stdin: alone.join('') })).toMatchObject({
        code: 0,
        stdout: '',
      });
      await containers.runtime.remove('php');
    },
  );

  test('programs trust an authority that the machine trusts, and without it do not', { timeout: buildMillisecondsMax }, async () => {
    const { certificate, key } = selfSigned('localhost');
    const authorities = [certificate];
    const trusting = await openImages(testImagesFolder, catalogue, { authorities }).ensure('nodejs:22');
    const plain = await openImages(testImagesFolder, catalogue).ensure('nodejs:22');
    const asks: Record<string, readonly [string, ...string[]]> = {
      curl: ['curl', '--silent', '--show-error', 'https://localhost:8443/'],
      node: ['node', '-e', "fetch('https://localhost:8443/').then((reply) => reply.text()).then(console.log)"],
      python: ['python3', '-c', "import urllib.request; urllib.request.urlopen('https://localhost:8443/')"],
    };
    const serve = "require('node:https').createServer(JSON.parse(process.env.SERVED), (_, reply) => reply.end('hello')).listen(8443)";
    const answersOf = async (name: string, layers: string[], env: Record<string, string>) => {
      const SERVED = JSON.stringify({ cert: certificate, key });
      const probe = { kind: 'port', port: 8443, secondsMax: 30 } as const;
      await containers.start({ name, layers, argv: ['node', '-e', serve], env: { ...env, SERVED }, probe });
      const codes = Object.entries(asks).map(async ([program, argv]) => [program, (await containers.run(name, { argv })).code === 0]);
      const answers: unknown = Object.fromEntries(await Promise.all(codes));
      await containers.runtime.remove(name);
      return answers;
    };
    const all = { curl: true, node: true, python: true };
    expect(await answersOf('trusting', trusting.layers, authorityVariables(authorities))).toEqual(all);
    const none = { curl: false, node: false, python: false };
    expect(await answersOf('plain', plain.layers, {})).toEqual(none);
  });

  test(
    'what is in a layer belongs to root, everybody may read it, and nothing gives rights',
    { timeout: buildMillisecondsMax },
    async () => {
      const { layers } = await containers.images.ensure('nodejs:22');
      const [base = ''] = layers;
      expect(readFileSync(join(base, 'etc/passwd'), 'utf8')).toContain('\napp:x:1000:1000:app:/app:');
      for (const folder of ['proc', 'dev', 'sys', 'tmp', 'run', 'etc', 'app', 'mnt'])
        expect(statSync(join(base, folder)).isDirectory()).toBe(true);
      for (const layer of layers) {
        const paths = ['.', ...readdirSync(layer), 'usr/bin', 'usr/local/bin'].filter(
          (path) => path !== 'root' && existsSync(join(layer, path)),
        );
        const wrong = paths.filter((path) => {
          const { uid, gid, mode } = statSync(join(layer, path));
          return uid !== 0 || gid !== 0 || (mode & 0o5) !== 0o5;
        });
        expect(wrong).toEqual([]);
      }
      expect(execFileSync('find', [...layers, '-type', 'f', '-perm', '/6000'], { encoding: 'utf8' })).toBe('');
    },
  );
});
