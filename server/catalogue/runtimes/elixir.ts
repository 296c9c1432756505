import { appTools, compilers, sshTools } from '../app-layers.ts';
import { bookworm, packages } from '../debian.ts';
import type { RuntimeEntry } from '../entry.ts';

export const elixir: RuntimeEntry = {
  versions: [bookworm.version('1.14', appTools, compilers, packages('elixir', 'erlang-dev', 'erlang-xmerl', 'erlang-os-mon'), ...sshTools)],
  profile: 'HIGH_CPU',
  runtime: {},
};
