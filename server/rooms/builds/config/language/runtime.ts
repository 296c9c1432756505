/** What is installed beside an app, and how PHP is set up. */
import { nameOfType, versionOfType } from '../../../../catalogue/catalogue.ts';
import type { Extensions } from '../../../../catalogue/runtime.ts';
import { quoted } from '../message.ts';
import type { App, Json } from '../model.ts';
import { childOf, type Node } from '../node.ts';
import {
  integer,
  json,
  label,
  list,
  mapOf,
  object,
  optional,
  orNull,
  type ReportAt,
  type Read,
  required,
  scalar,
  type Shape,
  shorthand,
  text,
  refined,
} from '../shape.ts';
import { type Context, runtimeIn } from './context.ts';

const languages = ['php', 'python', 'python2', 'python3', 'ruby', 'nodejs'];

/** A version constraint as written or, for PHP, a section of a composer file. */
const constraint: Shape<Json> = {
  ...shorthand<Json>(
    scalar('a version', ({ value, text: written }) => (value === null ? '*' : written)),
    json,
  ),
  takesNothing: true,
};

export const dependencies: Shape<Record<string, Record<string, Json>>> = mapOf(
  mapOf(constraint, 'a map of versions by package', {
    wrongKey: (name) => (/^[@\w][\w@./[\]-]{0,200}$/.test(name) ? undefined : 'the name of a package'),
  }),
  'a map of packages by language',
  { wrongKey: (name) => (languages.includes(name) ? undefined : `one of ${languages.join(', ')}`) },
);

const extensionName = (value: string) => /^[A-Za-z][\w-]{0,63}$/.test(value);

const extension = shorthand(
  refined(text('the name of an extension', extensionName), (name) => ({ name, configuration: {} })),
  object({
    name: required(text('the name of an extension', extensionName)),
    configuration: optional(mapOf(json, 'a map of settings'), {}),
  }),
);

export const phpRuntime = object(
  {
    extensions: optional(list(extension), []),
    disabled_extensions: optional(list(label('the name of an extension', extensionName)), []),
    request_terminate_timeout: orNull(integer(1, 86_400, 'seconds')),
    sizing_hints: optional(
      object({ request_memory: optional(integer(10, 16_384, 'MB'), 45), reserved_memory: optional(integer(70, 16_384, 'MB'), 70) }),
      { request_memory: 45, reserved_memory: 70 },
    ),
  },
  { ignored: { xdebug: 'this platform does not offer it' } },
);

/** The settings of the runtime; only PHP has any. */
export function runtimeOf(
  type: string,
  context: Context,
  found: Read<typeof phpRuntime> | undefined,
  { path, report }: ReportAt,
  node: Node,
): App['runtime'] {
  const offered = runtimeIn(context, type)?.extensions?.(versionOfType(type));
  if (!offered) {
    if (found)
      report.warn(childOf(node, 'runtime').at, `${path}.runtime`, `"runtime" is ignored: it sets up PHP, and this is ${nameOfType(type)}.`);
    return {};
  }
  if (found) checkExtensions(found, offered, { path: `${path}.runtime`, report }, childOf(node, 'runtime'));
  return (
    found ?? {
      extensions: [],
      disabled_extensions: [],
      request_terminate_timeout: null,
      sizing_hints: { request_memory: 45, reserved_memory: 70 },
    }
  );
}

function checkExtensions(
  { extensions, disabled_extensions }: Read<typeof phpRuntime>,
  { builtIn, usual, others }: Extensions,
  { path, report }: ReportAt,
  node: Node,
) {
  const check = (key: 'extensions' | 'disabled_extensions', names: readonly string[], known: readonly string[], why: string) => {
    const written = childOf(node, key);
    for (const [index, name] of names.entries()) {
      const { at } = (written.kind === 'list' ? written.items[index] : undefined) ?? written;
      if (!known.includes(name)) report.error(at, `${path}.${key}.${index}`, `Found the extension ${quoted(name)}, ${why}.`);
    }
  };
  const names = extensions.map(({ name }) => name);
  check(
    'extensions',
    names,
    [...builtIn, ...usual, ...others],
    `expected one of ${others.join(', ')}; ${[...usual, ...builtIn].join(', ')} are there anyway`,
  );
  check('disabled_extensions', disabled_extensions, [...usual, ...others], `expected one of ${usual.join(', ')}`);
}
