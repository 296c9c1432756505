/** How requests reach an app, and what is answered without it. */
import type { Location, LocationRule, Web } from '../model.ts';
import {
  choice,
  flag,
  integer,
  label,
  list,
  mapOf,
  maybe,
  object,
  optional,
  orNull,
  type Read,
  scalar,
  type Shape,
  shorthand,
  text,
  refined,
} from '../shape.ts';
import { type Context, runtimeIn } from './context.ts';
import { overrideFields } from './instance.ts';
import { byteSize, command, duration, innerPath, regularExpression } from './values.ts';

const passthru: Shape<boolean | string> = scalar('true, false or a path that begins with /', ({ value }) =>
  typeof value === 'boolean' || (typeof value === 'string' && value.startsWith('/') && !value.includes('\0')) ? value : undefined,
);
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headers = mapOf(
  label('text in one line', (value) => !/[\r\n]/.test(value)),
  'a map of headers by name',
  {
    wrongKey: (name) => (headerName.test(name) ? undefined : 'the name of a header'),
  },
);

const rule = object({
  expires: maybe(duration),
  passthru: maybe(passthru),
  scripts: maybe(flag),
  allow: maybe(flag),
  headers: maybe(headers),
});

const rules: Shape<Location['rules']> = refined(
  mapOf(rule, 'a map of rules by regular expression', {
    dots: 'write the dot as [.] or put ^ in front',
    wrongKey: (pattern) => (regularExpression(pattern) === undefined ? 'a regular expression' : undefined),
  }),
  (found) => Object.fromEntries(Object.entries(found).map(([pattern, one]) => [regularExpression(pattern) ?? pattern, whatItSays(one)])),
);

const whatItSays = (one: Read<typeof rule>): Partial<LocationRule> =>
  Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined));

const bufferingByDefault = { enabled: true, max_request_size: '250m' };
const single: Shape<string[]> = refined(text('a file name'), (name) => [name]);

const location = ({ scriptsByDefault }: Context): Shape<Location> =>
  object({
    root: orNull(innerPath),
    index: orNull(shorthand(single, list(text('a file name')))),
    rules: optional(rules, {}),
    request_buffering: optional(
      object({ enabled: optional(flag, true), max_request_size: optional(byteSize, bufferingByDefault.max_request_size) }),
      bufferingByDefault,
    ),
    expires: optional(duration, '-1s'),
    passthru: optional(passthru, false),
    scripts: optional(flag, scriptsByDefault),
    allow: optional(flag, true),
    headers: optional(headers, {}),
  });

const obsolete = 'it is obsolete; web.locations says the same';

export const web = (context: Context) =>
  object(
    {
      commands: optional(object({ pre_start: orNull(command), start: orNull(command), post_start: orNull(command) }), {
        pre_start: null,
        start: null,
        post_start: null,
      }),
      upstream: maybe(
        object({
          socket_family: maybe(choice('tcp', 'unix')),
          protocol: maybe(choice('http', 'fastcgi')),
          port: maybe(integer(1, 65_535)),
        }),
      ),
      locations: optional(
        mapOf(location(context), 'a map of locations by path', {
          wrongKey: (path) => (path.startsWith('/') ? undefined : 'a path that begins with /'),
        }),
        {},
      ),
      ...overrideFields(context),
    },
    {
      ignored: {
        document_root: obsolete,
        passthru: obsolete,
        index_files: obsolete,
        whitelist: obsolete,
        blacklist: obsolete,
        expires: obsolete,
        move_to_root: obsolete,
      },
    },
  );

/** The web part of an app, completed with the defaults of the app's type. */
export const webOf = (type: string, context: Context, { commands, upstream, locations }: Read<ReturnType<typeof web>>): Web => {
  const fastcgi = runtimeIn(context, type)?.fastcgi;
  const all: Location = {
    root: null,
    index: null,
    rules: {},
    request_buffering: bufferingByDefault,
    expires: '-1s',
    passthru: fastcgi?.script ?? true,
    scripts: context.scriptsByDefault,
    allow: true,
    headers: {},
  };
  return {
    commands,
    upstream: {
      socket_family: upstream?.socket_family ?? (fastcgi ? 'unix' : 'tcp'),
      protocol: upstream?.protocol ?? (fastcgi ? 'fastcgi' : 'http'),
      ...(upstream?.port !== undefined && { port: upstream.port }),
    },
    locations: Object.keys(locations).length > 0 ? locations : { '/': all },
    move_to_root: false,
  };
};
