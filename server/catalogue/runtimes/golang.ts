/** Debian's `go` is of one version, in a package that only links to it; here each version is linked to in its place. */
import type { Files } from '../../drivers/images/recipe.ts';
import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';

const linked = (version: string): Files => ({
  kind: 'files',
  files: {},
  links: Object.fromEntries(['go', 'gofmt'].map((name) => [`/usr/local/bin/${name}`, `/usr/lib/go-${version}/bin/${name}`])),
});

const current = (version: string) => {
  const program = trixie.backports(`golang-${version}-go`, `golang-${version}-src`);
  return trixie.version(version, appTools, compilers, program, linked(version), ...sshTools);
};

const older = bookworm.backports('golang-1.23-go', 'golang-1.23-src', 'golang-go', 'golang-src');

export const golang: RuntimeEntry = {
  versions: [current('1.26'), current('1.25'), deprecated(bookworm.version('1.23', appTools, compilers, older, ...sshTools))],
  retired: ['1.22', '1.21', '1.20', '1.19', '1.18', '1.17', '1.16', '1.15', '1.14', '1.13', '1.12', '1.11'],
  profile: 'HIGH_CPU',
  runtime: {},
};
