/** Makes of an operator's description what the catalogue says of every other service, so that nothing else knows the difference. */
import { describedAccess, describedConfiguration, matching } from './described-accounts.ts';
import { type Description, readySecondsUsual } from './description.ts';
import type { ServiceEntry, Version } from './entry.ts';
import { filled, withMemory } from './placeholders.ts';
import { argvOf, mebibytes, type RelationshipShape, type Service, type ServiceCommand, type SignIn } from './service.ts';

const writableUsual = ['/tmp', '/run'];
const stopSecondsUsual = 30;

export function describedEntry(description: Description): ServiceEntry {
  const { profile = 'HIGH_MEMORY', retired } = description;
  return { versions: versionsOf(description), ...(retired && { retired }), profile, service: serviceOf(description) };
}

const newestFirst = (one: string, other: string) => other.localeCompare(one, 'en', { numeric: true });

const versionsOf = ({ versions, untried }: Description): Version[] =>
  Object.entries(versions)
    .toSorted(([one], [other]) => newestFirst(one, other))
    .map(([version, { image, deprecated }]) => ({
      version,
      recipes: [],
      image,
      note: `from the image ${image}`,
      ...(deprecated && { isDeprecated: true }),
      ...(untried && { isUntried: true }),
    }));

function serviceOf(description: Description): Service {
  const { port, data, writable = writableUsual, environment = {}, set_up, start, stop = {}, snapshot = {}, accounts } = description;
  const configuration = accounts && describedConfiguration(accounts, endpointOf(description));
  return {
    ports: [port],
    keepsData: data !== undefined,
    ...(data && { dataAt: data.folder }),
    ...(data?.format === 'version' && { dataFormat: (version: string) => version }),
    ...(data?.disk_mb !== undefined && { diskMin: data.disk_mb }),
    writable,
    env: environment,
    initialise: commandsOf(set_up?.commands),
    ...(set_up && { initialised: set_up.makes }),
    start: ({ limits }) => argvOf(start.map((argument) => withMemory(argument, mebibytes(limits.memoryBytes)))),
    probe: probeOf(description),
    ...(accounts && { access: describedAccess(accounts) }),
    quiesce: commandsOf(snapshot.before),
    resume: commandsOf(snapshot.after),
    stop: { signal: stop.signal ?? 'SIGTERM', secondsMax: stop.seconds ?? stopSecondsUsual },
    relationship: relationshipShapeOf(description),
    ...(configuration && { configuration }),
  };
}

const endpointOf = ({ endpoint, name }: Description) => endpoint ?? name;

function probeOf({ port, ready: { http, command, seconds: secondsMax = readySecondsUsual } = {} }: Description): Service['probe'] {
  if (http !== undefined) return { kind: 'http', port, path: http, secondsMax };
  return command ? { kind: 'command', argv: argvOf(command), secondsMax } : { kind: 'port', port, secondsMax };
}

function relationshipShapeOf(description: Description): RelationshipShape {
  const { scheme, port, path, query, accounts } = description;
  const isMore = path !== undefined || query !== undefined || accounts !== undefined;
  return {
    rel: endpointOf(description),
    scheme,
    port,
    ...(path !== undefined && { path }),
    ...(accounts && { defaultAccount: { name: accounts.account, database: accounts.database } }),
    ...(accounts?.reserved_accounts && { reservedAccounts: matching(accounts.reserved_accounts) }),
    ...(isMore && { query: (account, database) => queryFor(query ?? {}, account, database) }),
  };
}

const queryFor = (query: NonNullable<Description['query']>, account: SignIn | undefined, database: string | null) => {
  const values = { account: account?.name ?? '', password: account?.password ?? '', database: database ?? '' };
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? filled(value, values) : value]),
  );
};

const commandsOf = (commands: { run: string[]; input?: string }[] = []): ServiceCommand[] =>
  commands.map(({ run, input }) => ({ argv: argvOf(run), ...(input !== undefined && { stdin: input }) }));
