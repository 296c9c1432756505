/**
 * The disk that a machine starts from: Debian as somebody installs it, with systemd, its kernel, the packages that `./offshoot` would install, and a door for
 * the tests. Made once for a release and kept; machines write on layers above it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { trustedAuthorities } from '../../server/drivers/authorities.ts';
import { aptSettings, keyring, mirrorLines } from '../../server/drivers/images/build-debian.ts';
import { repository } from '../installation.ts';
import { architecture } from './architectures.ts';
import { formatDisk } from './format-disk.ts';
import { keptFolder } from './kept-folder.ts';
import { suppliesAt, suppliesLabel } from './supplies-disk.ts';

export interface SystemDisk {
  /** Never written to. */
  disk: string;
  kernel: string;
  initialRamDisk: string;
  /** Opens the door of the tests. */
  sshKey: string;
}

const run = promisify(execFile);
const buildMillisecondsMax = 1_800_000;
const diskBytes = 24 * 2 ** 30;
const keyCharacters = 12;

/** An emulated machine needs longer than systemd and units would wait, for a disk or for a service to start or to stop. */
const systemdSecondsMax = 1800;

const essentials = ['systemd-sysv', 'udev', 'dbus', 'kmod', 'e2fsprogs', 'openssh-server'];

export async function systemDisk(release: string): Promise<SystemDisk> {
  const packages = [...essentials, architecture().kernelPackage, ...packagesOfOffshoot()];
  const authorities = trustedAuthorities(undefined);
  const essence = JSON.stringify([packages, authorities, filesOf(''), diskBytes]);
  const key = createHash('sha256').update(essence).digest('hex').slice(0, keyCharacters);
  const folder = await keptFolder(`${release}-${key}`, async (scratch) => {
    const root = join(scratch, 'root');
    await debootstrap(release, packages, root);
    await openDoor(scratch, root, authorities);
    takeFirst(join(root, 'boot', 'vmlinuz-*'), join(scratch, 'vmlinuz'));
    takeFirst(join(root, 'boot', 'initrd.img-*'), join(scratch, 'initrd'));
    await formatDisk(root, join(scratch, 'disk'), { label: 'system', bytes: diskBytes });
    rmSync(root, { recursive: true });
  });
  const at = (name: string) => join(folder, name);
  return { disk: at('disk'), kernel: at('vmlinuz'), initialRamDisk: at('initrd'), sshKey: at('key') };
}

/** As the table in `offshoot` has them: on a machine without a network there is nothing left to install. */
function packagesOfOffshoot(): string[] {
  const [, table = ''] =
    /^run_packages\(\) \{\n {2}cat <<'EOF'\n([^]*?)^EOF/m.exec(readFileSync(join(repository, 'offshoot'), 'utf8')) ?? [];
  return table
    .split('\n')
    .flatMap((line) => line.split(' ', 1))
    .filter(Boolean);
}

async function debootstrap(release: string, packages: readonly string[], root: string) {
  const settings = (await aptSettings()).map((line) => `--aptopt=${line}`);
  const enable = '--customize-hook=chroot "$1" systemctl enable systemd-networkd ssh';
  const args = ['--mode=root', '--variant=minbase', '--format=directory', `--keyring=${keyring}`, ...settings];
  const dpkg = ['--dpkgopt=force-unsafe-io', '--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-exclude=/usr/share/locale/*'];
  await run('mmdebstrap', [...args, ...dpkg, `--include=${packages.join(',')}`, enable, release, root, ...(await mirrorLines(release))], {
    timeout: buildMillisecondsMax,
    maxBuffer: 2 ** 26,
  });
}

/** The network is that of the emulator, where the machine has always the same address. */
const filesOf = (publicKey: string): Record<string, string> => ({
  '/etc/hostname': 'machine\n',
  '/etc/hosts': '127.0.0.1 localhost\n127.0.1.1 machine\n::1 localhost\n',
  '/etc/resolv.conf': 'nameserver 10.0.2.3\n',
  '/etc/fstab': `LABEL=system / ext4 errors=remount-ro 0 1\nLABEL=${suppliesLabel} ${suppliesAt} ext4 x-systemd.device-timeout=${systemdSecondsMax} 0 2\n`,
  '/etc/systemd/system/service.d/patience.conf': `[Service]\nTimeoutSec=${systemdSecondsMax}\n`,
  '/etc/systemd/network/wired.network': '[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n',
  // A machine of its own from the beginning: it does not set itself up at each first start.
  '/etc/machine-id': `${createHash('md5').update('machine').digest('hex')}\n`,
  '/root/.ssh/authorized_keys': publicKey,
});

async function openDoor(folder: string, root: string, authorities: readonly string[]) {
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'tests', '-f', join(folder, 'key')]);
  const certificates = authorities.map((pem, index): [string, string] => [
    `/usr/local/share/ca-certificates/${String(index).padStart(3, '0')}.crt`,
    pem,
  ]);
  const files = { ...filesOf(readFileSync(join(folder, 'key.pub'), 'utf8')), ...Object.fromEntries(certificates) };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    rmSync(join(root, path), { force: true });
    writeFileSync(join(root, path), text);
  }
  chmodSync(join(root, 'root', '.ssh'), 0o700);
  mkdirSync(join(root, suppliesAt), { recursive: true });
  await run('chroot', [root, 'update-ca-certificates'], { timeout: buildMillisecondsMax });
}

function takeFirst(pattern: string, to: string) {
  const [found] = globSync(pattern);
  if (found === undefined) throw new Error(`The system has no ${pattern}.`);
  cpSync(found, to);
}
