/**
 * Images of real servers for service types that no registry at hand carries, made by ourselves: from packages of Debian and what Maven Central has. They are put
 * into a registry of the test, and kept beside the images of all tests, because making one takes minutes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { testImagesFolder } from './images.ts';

const folder = join(dirname(testImagesFolder), 'service-images');
const layerBytesMax = 2 ** 30;

/** A file that is made once, and appears whole. */
async function kept(name: string, make: (file: string) => Promise<void> | void): Promise<Buffer> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  if (!existsSync(file)) {
    await make(`${file}.new`);
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file);
}

const leftOut = ['/usr/share/doc/*', '/usr/share/locale/*', '/usr/share/info/*'];

/** The files of a Debian with these packages, as one archive. */
const debianWith = (suite: string, ...packages: string[]) =>
  kept(`${suite}-${packages.join('-')}.tar`, (file) => {
    const options = [
      '--variant=essential',
      '--mode=root',
      '--format=tar',
      '--skip=output/dev',
      '--aptopt=Acquire::Check-Valid-Until "false"',
    ];
    const without = leftOut.map((path) => `--dpkgopt=path-exclude=${path}`);
    execFileSync('mmdebstrap', [...options, ...without, `--include=${packages.join(',')}`, suite, file, 'http://deb.debian.org/debian'], {
      stdio: 'ignore',
    });
  });

const openSearch = {
  url: 'https://repo1.maven.org/maven2/org/opensearch/distribution/integ-test-zip/opensearch/3.6.0/opensearch-3.6.0.zip',
  sha256: 'a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286',
};

/** The distribution without plugins; it brings no Java of its own, and looks for one in its folder. */
const openSearchFiles = () =>
  kept('opensearch-3.6.0.tar', async (file) => {
    const archive = Buffer.from(await (await fetch(openSearch.url)).arrayBuffer());
    const found = createHash('sha256').update(archive).digest('hex');
    if (found !== openSearch.sha256) throw new Error(`${openSearch.url} is not what it was: ${found}`);
    const root = mkdtempSync(join(folder, 'unpacking-'));
    try {
      writeFileSync(join(root, 'opensearch.zip'), archive);
      mkdirSync(join(root, 'usr/share'), { recursive: true });
      execFileSync('busybox', ['unzip', '-q', join(root, 'opensearch.zip'), '-d', join(root, 'usr/share')]);
      renameSync(join(root, 'usr/share/opensearch-3.6.0'), join(root, 'usr/share/opensearch'));
      symlinkSync('/usr/lib/jvm/default-java', join(root, 'usr/share/opensearch/jdk'));
      execFileSync('chmod', ['--recursive', 'u=rwX,go=rX', '--', join(root, 'usr')]);
      execFileSync('chmod', ['--recursive', 'a+rx', '--', join(root, 'usr/share/opensearch/bin')]);
      execFileSync('tar', ['--create', '--owner=0', '--group=0', '--directory', root, '--file', file, './usr'], {
        maxBuffer: layerBytesMax,
      });
    } finally {
      rmSync(root, { recursive: true });
    }
  });

/** The layers of each image, the lowest first. */
export const serviceImages: Readonly<Record<string, () => Promise<Buffer[]>>> = {
  'oracle-mysql': async () => [await debianWith('sid', 'mysql-server-core', 'mysql-client-core')],
  opensearch: async () => [await debianWith('trixie', 'default-jre-headless', 'ca-certificates'), await openSearchFiles()],
};
