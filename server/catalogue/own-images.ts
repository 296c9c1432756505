/** What containers are made with that run images which people bring themselves, beside those images. Nobody names these types in a configuration. */
import type { ImageTypes } from '../drivers/images/image-types.ts';
import type { Recipe } from '../drivers/images/recipe.ts';
import { packages, trixie } from './debian.ts';

/** The type of an app whose image comes from a registry, and of one whose image is built from a Dockerfile. */
export const fromRegistry = 'oci:image';
export const fromDockerfile = 'oci:dockerfile';
const ownTypes: ReadonlySet<string> = new Set([fromRegistry, fromDockerfile]);

/** Whether an app of the type has an image of its own, in the place of one of the catalogue. */
export const hasOwnImage = (type: string): boolean => ownTypes.has(type);

/** What its containers are made with beside its own image; of other types, the type itself. */
export const typeBelow = (type: string): string => (hasOwnImage(type) ? fromRegistry : type);

/** Below an image of somebody else's, Debian itself would only show through; of the tools all else is wanted. */
export const toolsIn = (layers: readonly string[]): readonly string[] => layers.slice(1);

const busybox = '/usr/bin/busybox';
const applets = `
  awk base64 basename cat chmod clear cmp cp cut date dd diff dirname du echo env expr false find free grep gunzip gzip head hostname id
  kill less ln ls md5sum mkdir mktemp mv nc nproc nslookup od pgrep ping pkill printenv printf ps pwd readlink realpath rm rmdir sed seq sh
  sha256sum sleep sort stat sync tail tar tee test timeout top touch tr true tty uname uniq uptime vi wc wget which whoami xargs yes
`
  .trim()
  .split(/\s+/);

/** Shells that the platform starts by name; whatever an image brings under the name is in its place. */
const shell = `#!${busybox} sh\nif [ "$1" = --login ]; then shift; set -- -l "$@"; fi\nexec ${busybox} sh "$@"\n`;

/** Programs of ours that images of others may lack: a shell and its usual tools, and what files are carried with over SSH. An image's own come first. */
const tools: readonly Recipe[] = [
  { kind: 'debian-packages', packages: ['busybox-static'], only: [busybox] },
  {
    kind: 'debian-apart',
    suite: 'trixie',
    revision: '2026-11',
    packages: ['rsync', 'openssh-sftp-server'],
    into: '/usr/lib/offshoot',
    programs: ['/usr/bin/rsync', '/usr/lib/openssh/sftp-server'],
  },
  {
    kind: 'files',
    files: {},
    programs: { '/usr/bin/dash': shell, '/usr/bin/bash': shell },
    links: {
      '/bin/sh': busybox,
      '/usr/lib/openssh/sftp-server': '/usr/local/bin/sftp-server',
      ...Object.fromEntries(applets.map((name) => [`/usr/bin/${name}`, busybox])),
    },
  },
];

/** What Dockerfiles are built with, inside the container of the build. */
const buildTools: readonly Recipe[] = [
  packages('buildah'),
  // Asked for at each start, and never called: what is built is in the network of its own build.
  { kind: 'files', files: {}, programs: { '/usr/lib/podman/netavark': '#!/bin/sh\nexit 1\n' } },
];

export const ownImages: ImageTypes = {
  oci: { versions: [trixie.version('image', ...tools), trixie.version('dockerfile', ...buildTools)] },
};
