/** A real registry on the loopback address, brought as programs of images are, and images to put into it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { vi } from 'vitest';
import { testImagesFolder } from '../../../testing/images.ts';
import { freePort } from '../../certificates/test-ports.ts';
import { openImages } from '../cached-images.ts';
import type { ImageTypes } from '../image-types.ts';
import { platformName } from './image-documents.ts';
import { digestOf } from './registry.ts';

const into = '/opt/registry-tests';
const catalogue: ImageTypes = {
  'registry-tests': {
    versions: [
      {
        version: '1',
        recipes: [
          {
            kind: 'debian-apart',
            suite: 'trixie',
            revision: '2026-11',
            packages: ['docker-registry'],
            into,
            programs: ['/usr/bin/docker-registry'],
          },
        ],
      },
    ],
  },
};

/** The password's hash is what the registry reads. */
export const testCredentials = { username: 'tester', password: 'only for tests' };
const passwordFile = 'tester:$2y$05$abcdefghijklmnopqrstuui3d48x2EmEcM8nS6p4.UqwA2W2X0bq2\n';

export interface PushedImage {
  /** Archives, the lowest first. */
  layers: readonly Buffer[];
  config?: Record<string, unknown>;
  platform?: string;
}

const startMillisecondsMax = 20_000;

export type TestRegistry = Awaited<ReturnType<typeof openTestRegistry>>;

export async function openTestRegistry({ isPrivate = false } = {}) {
  const { layers } = await openImages(testImagesFolder, catalogue).ensure('registry-tests:1');
  const program = join(layers.at(-1) ?? '', into);
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  writeFileSync(join(folder, 'passwords'), passwordFile);
  const settings = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: host },
    ...(isPrivate && { auth: { htpasswd: { realm: 'tests', path: join(folder, 'passwords') } } }),
  };
  // What is JSON is YAML, too.
  writeFileSync(join(folder, 'settings.yml'), JSON.stringify(settings));
  const argv = ['--library-path', join(program, 'lib'), join(program, 'bin/docker-registry'), 'serve', join(folder, 'settings.yml')];
  const child = spawn(join(program, 'lib/loader'), argv, { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const authorization = `Basic ${Buffer.from(`${testCredentials.username}:${testCredentials.password}`).toString('base64')}`;
  const headers = { ...(isPrivate && { authorization }) };
  await vi.waitFor(() => fetch(`http://${host}/v2/`, { headers }), { timeout: startMillisecondsMax });

  const put = async (url: string, body: Buffer, type: string) => {
    const reply = await fetch(url, { method: 'PUT', body: new Uint8Array(body), headers: { ...headers, 'content-type': type } });
    if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  };
  const pushBlob = async (name: string, body: Buffer): Promise<string> => {
    const begun = await fetch(`http://${host}/v2/${name}/blobs/uploads/`, { method: 'POST', headers });
    const url = new URL(begun.headers.get('location') ?? '', `http://${host}`);
    url.searchParams.set('digest', digestOf(body));
    await put(url.href, body, 'application/octet-stream');
    return digestOf(body);
  };
  const pushManifest = async (name: string, tag: string, manifest: { mediaType: string }) => {
    const body = Buffer.from(JSON.stringify(manifest));
    await put(`http://${host}/v2/${name}/manifests/${tag}`, body, manifest.mediaType);
    return { mediaType: manifest.mediaType, digest: digestOf(body), size: body.length };
  };

  return {
    host,
    pushBlob,
    pushManifest,
    /** Returns the image's manifest as an index would name it. */
    async push(name: string, tag: string, { layers: archives, config = {}, platform = platformName() }: PushedImage) {
      const [os, architecture] = platform.split('/');
      const created = '2026-11-17T00:00:00Z';
      const history = archives.map(() => ({ created, created_by: 'a test' }));
      const described = { created, os, architecture, config, history, rootfs: { type: 'layers', diff_ids: archives.map(digestOf) } };
      const pushed = [];
      for (const archive of archives) {
        const packed = gzipSync(archive);
        const digest = await pushBlob(name, packed);
        pushed.push({ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: packed.length });
      }
      const body = Buffer.from(JSON.stringify(described));
      return pushManifest(name, tag, {
        schemaVersion: 2,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: await pushBlob(name, body), size: body.length },
        layers: pushed,
      } as { mediaType: string });
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
