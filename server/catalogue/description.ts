/**
 * A service type as an operator describes it, in one file of YAML or JSON: which image it runs from, how it starts, and all that the platform does with it.
 * `read-description.ts` checks it; `described-service.ts` makes of it what the catalogue says of every other service.
 */
import { type Static, Type } from 'typebox';
import { Line } from '../kernel/schema.ts';
import { mapBy, oneOf } from '../kernel/stored-json.ts';
import { containerProfiles } from './entry.ts';

const closed = { additionalProperties: false };
const like = (pattern: string, message: string) => Type.String({ pattern, 'x-message': message });
const stopSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;

const argumentCharactersMax = 8000;
const scriptCharactersMax = 32_000;
const [secondsUsual, startSecondsMax, stopSecondsMax] = [60, 600, 120];
const [firstFreePort, lastPort] = [1024, 65_535];

const Name = like('^[a-z][a-z0-9-]{0,47}$', 'must be lower-case letters, digits and dashes, beginning with a letter, 48 at most');
const Word = like('^[A-Za-z0-9_][A-Za-z0-9_-]{0,47}$', 'must be letters, digits, _ and -, 48 at most');
const Path = like(String.raw`^(?:/[A-Za-z0-9_.+-]+)+$`, 'must be the absolute path of a folder, such as /var/lib/server');
const Version = '^[0-9A-Za-z][0-9A-Za-z.-]{0,19}$';
/** The host is asked for, because what a name without one means depends on who reads it. */
const Reference = like(
  String.raw`^(?:[a-z0-9-]+\.[a-z0-9.-]+|localhost|[a-z0-9.-]+:[0-9]+|[a-z0-9.-]+\.[a-z0-9.-]+:[0-9]+)(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
  'must name the registry, the image and its tag or digest, such as registry.example.org/team/notes:1',
);
const Argument = Type.String({ maxLength: argumentCharactersMax });
const Script = Type.String({ maxLength: scriptCharactersMax });
const Command = Type.Array(Argument, { minItems: 1, maxItems: 60 });
const Commands = Type.Array(Type.Object({ run: Command, input: Type.Optional(Script) }, closed), { maxItems: 20 });
/** A name of the service's own; `*` at its end stands for the rest. */
const Reserved = Type.Array(like('^[A-Za-z0-9_.-]{1,48}\\*?$', 'must be a name, or its beginning and *'), { maxItems: 40 });
const Seconds = (max: number) => Type.Integer({ minimum: 1, maximum: max });

const Accounts = Type.Object(
  {
    /** Whom the default endpoint signs in as, and where. */
    account: Word,
    database: Word,
    reserved_accounts: Type.Optional(Reserved),
    reserved_databases: Type.Optional(Reserved),
    /** The keys of `configuration` by which people choose databases and endpoints; without them there is the one account. */
    configuration: Type.Optional(Type.Object({ databases: Word, default: Word }, closed)),
    /** Runs inside with every deployment, and reads what the rest makes on standard input. */
    run: Command,
    first: Type.Optional(Script),
    each_database: Type.Optional(Script),
    each_account: Type.Optional(Script),
    each_privilege: Type.Optional(
      Type.Object({ admin: Type.Optional(Script), rw: Type.Optional(Script), ro: Type.Optional(Script) }, closed),
    ),
    last: Type.Optional(Script),
  },
  closed,
);

export const Description = Type.Object(
  {
    name: Name,
    about: Type.Optional(Line(200)),
    /** Said where nobody has run it yet: whoever uses it is told. */
    untried: Type.Optional(Type.Boolean()),
    profile: Type.Optional(oneOf(...containerProfiles)),
    versions: Type.Intersect([
      mapBy(Version, Type.Object({ image: Reference, deprecated: Type.Optional(Type.Boolean()) }, closed)),
      Type.Unsafe<object>({ type: 'object', minProperties: 1 }),
    ]),
    retired: Type.Optional(Type.Array(like(Version, 'must be a version, in quotes, such as "8.4"'), { maxItems: 60 })),
    port: Type.Integer({ minimum: firstFreePort, maximum: lastPort }),
    scheme: like('^[a-z][a-z0-9+.-]{0,29}$', 'must be a scheme of addresses, such as http'),
    endpoint: Type.Optional(Word),
    path: Type.Optional(Line(200)),
    query: Type.Optional(
      mapBy('^[A-Za-z0-9_]{1,60}$', Type.Unsafe<string | number | boolean>({ type: ['string', 'number', 'boolean'], maxLength: 500 })),
    ),
    data: Type.Optional(
      Type.Object(
        {
          folder: Path,
          format: Type.Optional(oneOf('major', 'version')),
          disk_mb: Type.Optional(Type.Integer({ minimum: 128, maximum: 2 ** 20 })),
        },
        closed,
      ),
    ),
    writable: Type.Optional(Type.Array(Path, { maxItems: 20 })),
    environment: Type.Optional(mapBy('^[A-Za-z_][A-Za-z0-9_]{0,99}$', Argument)),
    set_up: Type.Optional(
      Type.Object({ commands: Commands, makes: like('^[^/]', 'must be a path inside of data.folder, not an absolute one') }, closed),
    ),
    start: Command,
    ready: Type.Optional(
      Type.Object(
        {
          http: Type.Optional(like('^/[^\\s]*$', 'must be a path, such as /health')),
          command: Type.Optional(Command),
          seconds: Type.Optional(Seconds(startSecondsMax)),
        },
        closed,
      ),
    ),
    stop: Type.Optional(
      Type.Object({ signal: Type.Optional(oneOf(...stopSignals)), seconds: Type.Optional(Seconds(stopSecondsMax)) }, closed),
    ),
    snapshot: Type.Optional(Type.Object({ before: Type.Optional(Commands), after: Type.Optional(Commands) }, closed)),
    accounts: Type.Optional(Accounts),
  },
  closed,
);

export type Description = Static<typeof Description>;
export type DescribedAccounts = Static<typeof Accounts>;
export const readySecondsUsual = secondsUsual;
