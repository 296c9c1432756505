import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, forky, trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';

const recipes = [appTools, compilers, ...sshTools];

export const python: RuntimeEntry = {
  versions: [forky.version('3.14', ...recipes), trixie.version('3.13', ...recipes), deprecated(bookworm.version('3.11', ...recipes))],
  retired: ['3.9', '3.8', '3.7', '3.6', '3.5', '2.7'],
  profile: 'HIGH_CPU',
  runtime: {},
};
