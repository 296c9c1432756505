/**
 * RabbitMQ keeps its data under the name of its node, so the name is the same everywhere and a clone finds it. Its administration (Erlang's own
 * protocol) listens inside the container only.
 */
import { bookworm, forky, packages, trixie } from '../debian.ts';
import { deprecated, type ServiceEntry } from '../entry.ts';
import { adminEndpoint, type ServiceConfiguration } from '../service-configuration.ts';
import { type Access, checkNames, dataFolder, type Privilege, type Service } from '../service.ts';

const files = {
  '/etc/rabbitmq/rabbitmq.conf': [
    'listeners.tcp.default = 5672',
    'loopback_users = none',
    'default_user = offshoot-unused',
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    'disk_free_limit.absolute = 50MB',
    '',
  ].join('\n'),
  '/etc/rabbitmq/enabled_plugins': '[].\n',
  '/etc/rabbitmq/rabbitmq-env.conf': '',
};

const permissionsOf: Record<Privilege, string> = {
  ro: '{<<"^$">>, <<"^$">>, <<".*">>}',
  rw: '{<<"^$">>, <<".*">>, <<".*">>}',
  admin: '{<<".*">>, <<".*">>, <<".*">>}',
};

/** RabbitMQ has this virtual host from the start, so it is offered even when the configuration names only others. */
const firstHost = '/';

const configuration: ServiceConfiguration = {
  databases: { key: 'vhosts' },
  offer: ({ databases: others = [] }) => {
    const databases = [...new Set([firstHost, ...others])];
    return { databases, endpoints: { rabbitmq: adminEndpoint(databases) } };
  },
};

/**
 * The expression holds passwords, so it comes as standard input and not as an argument. From version 4 on, rabbitmqctl waits for ever for an expression that it
 * is to read itself, so the broker reads it, from a file that nobody else can read.
 */
const accessFile = '/run/access.erl';
const evaluateInput = `
umask 077
cat >${accessFile} || exit
/usr/lib/rabbitmq/bin/rabbitmqctl --quiet eval '{ok, ok} = file:script("${accessFile}").' </dev/null
set -- $?
rm -f -- ${accessFile}
exit "$1"
`;

const service: Service = {
  ports: [5672],
  keepsData: true,
  // A broker takes over the data of the version right before its own at most, and only once that one has been prepared for it.
  dataFormat: (version) => version,
  writable: ['/tmp', '/run'],
  env: {
    HOME: dataFolder,
    LANG: 'C.UTF-8',
    RABBITMQ_NODENAME: 'rabbit@localhost',
    RABBITMQ_MNESIA_BASE: `${dataFolder}/mnesia`,
    RABBITMQ_LOG_BASE: '/tmp',
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: '/run/rabbitmq.pid',
    RABBITMQ_CONFIG_FILE: '/etc/rabbitmq/rabbitmq.conf',
    RABBITMQ_ENABLED_PLUGINS_FILE: '/etc/rabbitmq/enabled_plugins',
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_ADDRESS: '127.0.0.1',
  },
  initialise: [],
  start: () => ['/usr/lib/rabbitmq/bin/rabbitmq-server'],
  probe: { kind: 'port', port: 5672, secondsMax: 120 },
  access: (access) => {
    checkNames(access);
    return [{ argv: ['dash', '-c', evaluateInput], stdin: accessExpression(access) }];
  },
  // Messages that were confirmed to a publisher are already on disk.
  quiesce: [],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 60 },
  relationship: { rel: 'rabbitmq', scheme: 'amqp', port: 5672, defaultAccount: { name: 'main', database: firstHost }, query: {} },
  configuration,
};

const recipes = [packages('rabbitmq-server'), { kind: 'files', files }] as const;

export const rabbitmq: ServiceEntry = {
  versions: [forky.version('4.3', ...recipes), trixie.version('4.0', ...recipes), deprecated(bookworm.version('3.10', ...recipes))],
  retired: ['3.12', '3.11', '3.9', '3.8', '3.7', '3.6', '3.5'],
  profile: 'HIGH_MEMORY',
  service,
};

const bytes = (text: string) => `<<${[...Buffer.from(text)].join(',')}>>`;
const list = (items: readonly string[]) => `[${items.join(', ')}]`;
const us = '<<"offshoot">>';
const internal = 'rabbit_auth_backend_internal';

/** One expression sets up everything, because each call of rabbitmqctl starts an Erlang virtual machine. */
function accessExpression({ databases, accounts }: Access): string {
  const users = accounts.map(({ name, password, privileges }) => {
    const granted = Object.entries(privileges).filter(([vhost]) => databases.includes(vhost));
    return `{${bytes(name)}, ${bytes(password)}, ${list(granted.map(([vhost, privilege]) => `{${bytes(vhost)}, ${permissionsOf[privilege]}}`))}}`;
  });
  return `
    Vhosts = ${list(databases.map(bytes))},
    Users = ${list(users)},
    [rabbit_vhost:add(V, ${us}) || V <- Vhosts, not rabbit_vhost:exists(V)],
    [rabbit_vhost:delete(V, ${us}) || V <- rabbit_vhost:list_names(), not lists:member(V, Vhosts)],
    Known = [proplists:get_value(user, U) || U <- ${internal}:list_users()],
    [${internal}:delete_user(U, ${us}) || U <- Known, not lists:keymember(U, 1, Users)],
    [case lists:member(U, Known) of
       true -> ${internal}:change_password(U, P, ${us});
       false -> ${internal}:add_user(U, P, ${us})
     end || {U, P, _} <- Users],
    [${internal}:clear_permissions(U, proplists:get_value(vhost, G), ${us}) ||
      {U, _, Granted} <- Users, G <- ${internal}:list_user_permissions(U), not lists:keymember(proplists:get_value(vhost, G), 1, Granted)],
    [${internal}:set_permissions(U, V, C, W, R, ${us}) || {U, _, Granted} <- Users, {V, {C, W, R}} <- Granted],
    ok.
  `;
}
