/** Layers that images of several runtimes have in common, so that each is built once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DebianPackages, Recipe } from '../drivers/images/recipe.ts';
import { packages } from './debian.ts';
import type { Clients } from './entry.ts';
import { loginFiles } from './login-files.ts';
import { services } from './services.ts';

const clients: readonly Clients[] = Object.values(services).flatMap((entry) => ('clients' in entry && entry.clients) || []);
/** Types that share clients list them more than once, so duplicates are removed. Sorting keeps the order of types from changing the layer. */
const clientPackages = [...new Set(clients.flatMap((each) => each.packages))].toSorted();
const clientRecipes = [...new Set(clients.flatMap((each) => each.recipes ?? []))];

/** Tools that hooks of apps call, whatever language the app is written in, and that commands such as `upsun db:dump` run inside an app. */
export const appTools: DebianPackages = packages(
  ...(['git', 'openssh-client', 'curl', 'wget', 'unzip', 'zip', 'xz-utils', 'bzip2', 'patch', 'rsync', 'jq', 'less', 'procps'] as const),
  'vim-tiny',
  ...clientPackages,
  'sqlite3',
);

const sendmail = readFileSync(join(import.meta.dirname, 'sendmail.pl'), 'utf8');

/** What people who come over SSH need beside the tools, and programs that send mail: the topmost layers of every runtime, which all of them share. */
export const sshTools: readonly Recipe[] = [
  ...clientRecipes,
  { kind: 'debian-packages', packages: ['openssh-sftp-server'], only: ['/usr/lib/openssh/sftp-server'] },
  { kind: 'files', files: loginFiles, programs: { '/usr/sbin/sendmail': sendmail } },
];

/** What packages with native parts are built with. Python is here because node-gyp is written in it. */
export const compilers: DebianPackages = packages(
  ...(['gcc', 'g++', 'make', 'pkg-config', 'libc6-dev'] as const),
  ...(['python3', 'python3-dev', 'python3-venv', 'python3-pip', 'python3-setuptools'] as const),
  ...(['libssl-dev', 'zlib1g-dev', 'libpq-dev', 'libmariadb-dev', 'libffi-dev', 'libyaml-dev', 'libxml2-dev', 'libxslt1-dev'] as const),
);
