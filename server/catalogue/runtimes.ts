/** The runtimes there are, in the order in which they are shown. */
import type { RuntimeEntry } from './entry.ts';
import { bun } from './runtimes/bun.ts';
import { deno } from './runtimes/deno.ts';
import { elixir } from './runtimes/elixir.ts';
import { golang } from './runtimes/golang.ts';
import { java } from './runtimes/java.ts';
import { nodejs } from './runtimes/nodejs.ts';
import { php } from './runtimes/php.ts';
import { python } from './runtimes/python.ts';
import { ruby } from './runtimes/ruby.ts';
import { rust } from './runtimes/rust.ts';
import { staticFiles } from './runtimes/static.ts';

export const runtimes: Readonly<Record<string, RuntimeEntry>> = {
  nodejs,
  bun,
  deno,
  php,
  python,
  ruby,
  golang,
  java,
  elixir,
  rust,
  static: staticFiles,
};
