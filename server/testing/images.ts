/** Containers of real images on real copy-on-write volumes, for tests: a runtime and a pool of their own, and the cache of images that all tests share. */
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { authorityVariables, trustedAuthorities } from '../drivers/authorities.ts';
import { type ImagesOptions, openImages } from '../drivers/images/cached-images.ts';
import { imageTypes } from '../catalogue/catalogue.ts';
import { openOutbound } from '../drivers/outbound/outbound.ts';
import { appUser } from '../catalogue/service.ts';
import { openRuncRuntime } from '../drivers/runtime/runc/runc.ts';
import type { Command, Container } from '../drivers/runtime/runtime.ts';
import { openPoolVolumes } from '../drivers/volumes/btrfs/btrfs.ts';

const isRoot = process.getuid?.() === 0;

const namedFolder = process.env['OFFSHOOT_IMAGES'];
export const isOwnImagesFolder = namedFolder === undefined;
/** Layers are named by what they are made of, and built by one process at a time, so that all clones of the repository on a machine share them. */
export const testImagesFolder = namedFolder ?? join(cacheFolder(), 'offshoot-tests', 'images');

function cacheFolder(): string {
  const ofUser = process.env['XDG_CACHE_HOME'];
  // Every user of a container passes through the folder, so root's home is no place for it.
  if (isRoot) return '/var/cache';
  return ofUser !== undefined && isAbsolute(ofUser) ? ofUser : join(homedir(), '.cache');
}

/** Running containers takes root. In CI, their tests fail rather than being skipped. */
export const canRunContainers = isRoot || process.env['CI'] === 'true';
export const whyNoContainers = canRunContainers ? '' : ' (left out: needs root)';

const limits = { cpu: 2, memoryBytes: 2 ** 29, pids: 500, diskBytes: 2 ** 30 };

const authorities = trustedAuthorities(undefined);
/** Registries on the loopback address that tests have started, as `host:port`. */
export const testRegistries: string[] = [];

/** The images of the catalogue, from the cache that all tests share. */
export const openTestImages = (options: ImagesOptions = {}) =>
  openImages(testImagesFolder, imageTypes, {
    authorities,
    outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }),
    plainRegistries: testRegistries,
    ...options,
  });
/** Variables of containers by which builds reach registries wherever the machine itself does. */
export const testEnvironment = authorityVariables(authorities);

/** `options` say how registries are reached, for tests that have one. */
export async function openTestContainers(options: ImagesOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-test-'));
  // The mode of a data folder: users of containers have to pass through it.
  chmodSync(folder, 0o711);
  const volumes = await openPoolVolumes(join(folder, 'volumes'), () => {});
  const runtime = await openRuncRuntime({
    folder: join(folder, 'runtime'),
    runFolder: join(folder, 'run'),
    volumes,
    env: testEnvironment,
  });
  const images = openTestImages(options);
  const names = new Set<string>();

  return {
    /** The folder, for other processes on the same machine. */
    folder,
    images,
    runtime,
    volumes,
    limits,
    async volume(name: string, bytesMax = limits.diskBytes): Promise<string> {
      const { path } = await volumes.create(name, bytesMax);
      chownSync(path, appUser.uid, appUser.gid);
      return path;
    },
    clone: async (from: string, name: string): Promise<string> => (await volumes.clone(from, name)).path,
    start(container: Partial<Container> & Pick<Container, 'name' | 'layers' | 'argv'>) {
      names.add(container.name);
      return runtime.ensure({
        env: {},
        user: appUser,
        workingFolder: '/',
        writable: ['/tmp', '/run'],
        mounts: [],
        limits,
        network: 'test',
        names: [],
        restart: 'never',
        stop: { signal: 'SIGTERM', secondsMax: 5 },
        ...container,
      });
    },
    async run(name: string, command: Command & { stdin?: string }) {
      const execution = await runtime.exec(name, command);
      execution.stdin.end(command.stdin ?? '');
      const [code, stdout, stderr] = await Promise.all([execution.exited, text(execution.stdout), text(execution.stderr)]);
      return { code, stdout, stderr };
    },
    async close() {
      for (const name of names) await runtime.remove(name);
      await runtime.removeLeftovers(new Set());
      await runtime.close();
      await volumes.close();
      await volumes.unmount();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type TestContainers = Awaited<ReturnType<typeof openTestContainers>>;
