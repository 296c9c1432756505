import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, forky, packages, trixie } from '../debian.ts';
import { deprecated, type RuntimeEntry } from '../entry.ts';

const recipes = [appTools, compilers, packages('elixir', 'erlang-dev', 'erlang-xmerl', 'erlang-os-mon'), ...sshTools];

export const elixir: RuntimeEntry = {
  versions: [forky.version('1.20', ...recipes), trixie.version('1.18', ...recipes), deprecated(bookworm.version('1.14', ...recipes))],
  retired: ['1.13', '1.12', '1.11', '1.10', '1.9'],
  profile: 'HIGH_CPU',
  runtime: {},
};
