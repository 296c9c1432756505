/** Apps that are an image of a registry, pushed and branched on a real machine with a real registry. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestRegistry, testCredentials, type TestRegistry } from '../../drivers/images/oci/test-registry.ts';
import { openTestDeployments, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, testRegistries, whyNoContainers } from '../../testing/images.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const archiveBytesMax = 16 * 1024 ** 2;

describe.runIf(canRunContainers)(`apps from images${whyNoContainers}`, () => {
  let all: TestDeployments;
  let registry: TestRegistry;
  let secured: TestRegistry;
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-own-images-'));

  beforeAll(async () => {
    [registry, secured] = await Promise.all([openTestRegistry(), openTestRegistry({ isPrivate: true })]);
    testRegistries.push(registry.host, secured.host);
    all = await openTestDeployments();
    for (const type of ['oci:image', 'oci:dockerfile', 'redis:8.0']) await all.machine.images.ensure(type);
  }, imagesMillisecondsMax);
  afterAll(async () => {
    await all.close();
    await Promise.all([registry.stop(), secured.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** A program that serves one page, and nothing else: no shell, no users, no folders of a system. */
  function imageOf(version: string) {
    const from = mkdtempSync(join(folder, 'image-'));
    mkdirSync(join(from, 'www'));
    copyFileSync('/usr/bin/busybox', join(from, 'busybox'));
    writeFileSync(join(from, 'www/index.html'), JSON.stringify({ version }));
    return {
      layers: [execFileSync('tar', ['--create', '--file=-', `--directory=${from}`, 'busybox', 'www'], { maxBuffer: archiveBytesMax })],
      config: {
        Entrypoint: ['/busybox', 'httpd', '-f', '-v'],
        Cmd: ['-p', '8080', '-h', '/www'],
        Env: ['PATH=/', 'COLOR=green', 'SHAPE=round'],
        WorkingDir: '/www',
        User: '0',
        ExposedPorts: { '8080/tcp': {} },
      },
    };
  }

  const configured = (image: string, more = '') => ({
    '.upsun/config.yaml': `
applications:
  app:
    image: ${image}
    variables: { env: { COLOR: blue } }
    mounts: { /data: { source: storage, source_path: data } }
    relationships: { store: 'cache:redis' }
    ${more}
services: { cache: { type: 'redis:8.0' } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
  });

  test(
    'it runs as its image says, with mounts, relationships and variables; it is branched; its tag moves only with a push',
    { timeout },
    async () => {
      const project = await all.project();
      await registry.push('team/web', '1', imageOf('one'));
      const image = `${registry.host}/team/web:1`;
      const log = await project.push(configured(image));
      expect(log).toContain(`Fetching the image ${image}.`);
      expect(log).toMatch(/team\/web:1 is sha256:[0-9a-f]{64}/);
      expect(await project.ask()).toEqual({ version: 'one' });
      expect(await project.inside('pwd; echo $COLOR $SHAPE $PORT $PLATFORM_APP_DIR; id -u')).toBe('/www\nblue round 8080 /\n1000');
      expect(await project.inside("printf 'PING\\r\\n' | nc -w 2 $STORE_HOST $STORE_PORT")).toContain('+PONG');
      await project.inside('echo kept >/data/file');
      await expect(project.inside('echo no >/www/file')).rejects.toThrow('ead-only');

      // The tag means another image now; what is deployed again, and what is branched, is what was pushed.
      await registry.push('team/web', '1', imageOf('two'));
      await project.addEnvironment('branch');
      expect(await project.push(configured(image), { environment: 'branch', cloneFrom: 'main' })).toContain('Reusing existing build');
      expect(await project.ask('branch')).toEqual({ version: 'one' });
      expect(await project.inside('cat /data/file', 'branch')).toBe('kept');
      await project.inside('echo changed >/data/file', 'branch');
      expect(await project.inside('cat /data/file')).toBe('kept');

      await project.push({ ...configured(image), 'README.md': 'changed' });
      expect(await project.ask()).toEqual({ version: 'two' });
      expect(await project.inside('cat /data/file')).toBe('kept');
    },
  );

  test(
    'an app from a Dockerfile is built on an image of a registry, branched and rolled back, and a failing line is named',
    { timeout },
    async () => {
      const project = await all.project();
      await registry.push('team/base', '1', imageOf('base'));
      const files = (version: string, run: string) => ({
        '.upsun/config.yaml': `
applications:
  app:
    dockerfile: { path: docker/Dockerfile, args: { TAG: '1' } }
    mounts: { /data: { source: storage, source_path: data } }
routes: { 'http://{default}/': { type: upstream, upstream: 'app:http' } }
`,
        'docker/Dockerfile': `ARG TAG=none
FROM ${registry.host}/team/base:\${TAG} AS made
RUN ["/busybox", "mkdir", "/bin"]
RUN ["/busybox", "ln", "/busybox", "/bin/sh"]
FROM made
COPY page.json /www/index.html
RUN ${run}
EXPOSE 8080
`,
        'page.json': JSON.stringify({ version }),
      });
      const first = await project.push(files('one', '/busybox echo built >/www/built && /busybox rm /bin/sh'));
      expect(first).toMatch(/team\/base:1 is sha256:/);
      expect(first).toMatch(/STEP \d+\/\d+: COPY page.json/);
      expect(await project.ask()).toEqual({ version: 'one' });
      expect(await project.inside('cat /www/built; ls /bin; echo $SHAPE')).toContain('built');
      await project.inside('echo kept >/data/file');
      const { db } = all.home.platform;
      const earlier = await db.selectFrom('deployments').select('id').where('project_id', '=', project.projectId).executeTakeFirstOrThrow();

      const failing = await project.attempt(files('broken', 'exit 7'));
      expect(failing.result).toBe('failure');
      expect(failing.log).toContain("Unable to build application 'app': line 7 of docker/Dockerfile (RUN exit 7) failed with exit code 7");
      expect(await project.ask()).toEqual({ version: 'one' });

      const second = await project.push(files('two', '/busybox echo built >/www/built && /busybox rm /bin/sh'));
      expect(second).toContain('Using cache');
      expect(await project.ask()).toEqual({ version: 'two' });
      await project.addEnvironment('branch');
      await project.push(files('three', '/busybox true'), { environment: 'branch', cloneFrom: 'main' });
      expect(await project.ask('branch')).toEqual({ version: 'three' });
      expect(await project.inside('cat /data/file', 'branch')).toBe('kept');

      await project.push({}, { kind: 'rollback', deployment: earlier.id });
      expect(await project.ask()).toEqual({ version: 'one' });
    },
  );

  test(
    'what is wrong with an image fails the push in words, and credentials come from a variable that nobody else sees',
    { timeout },
    async () => {
      const project = await all.project();
      const missing = await project.attempt(configured(`${registry.host}/team/none:1`));
      expect(missing.log).toContain("Unable to build application 'app': There is no image");
      const mixed = await project.attempt(configured(`${registry.host}/team/web:1`, 'hooks: { build: make }'));
      expect(mixed.log).toContain('Found hooks.build of an app with an image, expected nothing: the image is built already');

      await secured.push('team/secret', '1', imageOf('secret'));
      const image = `${secured.host}/team/secret:1`;
      const refused = await project.attempt(configured(image));
      expect(refused.log).toContain('does not let everybody read team/secret; give credentials for it');
      const value = `${testCredentials.username}:${testCredentials.password}`;
      const body = { name: `registry:${secured.host}`, value, is_sensitive: true };
      expect((await project.owner.send('POST', `/projects/${project.projectId}/variables`, body)).status).toBe(201);
      await project.push(configured(image));
      expect(await project.ask()).toEqual({ version: 'secret' });
      expect(await project.inside('env; echo $PLATFORM_VARIABLES | base64 -d')).not.toContain('registry:');
    },
  );
});
