import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, packages, trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';

const recipes = [appTools, compilers, packages('ruby', 'ruby-dev', 'bundler'), ...sshTools];

export const ruby: RuntimeEntry = {
  versions: [trixie.version('3.3', ...recipes), deprecated(bookworm.version('3.1', ...recipes))],
  retired: ['3.0', '2.7', '2.6', '2.5', '2.4', '2.3'],
  profile: 'HIGH_CPU',
  runtime: {},
};
