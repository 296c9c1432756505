/**
 * A cache in front of apps, which routes lead to. People write its rules in Varnish's own language (VCL). Each relationship to an app is an object in them, as
 * in `set req.backend_hint = app.backend();`.
 *
 * Varnish looks up the address of a backend once, when it reads its rules, and instances of apps come and go. So its backends are ports inside the container,
 * and whoever connects there is connected to one of the instances that run at the moment.
 */
import type { Files } from '../../drivers/images/recipe.ts';
import { forky, packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import type { ServiceConfiguration } from '../service-configuration.ts';
import { mebibytes, type Service, type ServiceSettings } from '../service.ts';

const port = 8080;
/** The first of the ports inside the container that lead to apps. */
const firstInnerPort = 9001;
const vclBytesMax = 96 * 1024;
/** The rest of the memory is for connections, and for the compiler that makes a program of the rules. */
const shareOfMemory = 0.6;

const forward = '/usr/local/lib/varnish/forward';
/** Connects standard input and output with one of the addresses that a name has, in any order; the next one where nobody answers. */
const forwardScript = `#!/bin/sh
for address in $(getent ahostsv4 "$1" | cut -d ' ' -f 1 | sort -u | shuf); do
  socat - "TCP:$address:$2,connect-timeout=2" && exit
done
exit 1
`;
const files: Files = { kind: 'files', files: {}, programs: { [forward]: forwardScript } };

/** Arguments are the preamble, the rules, the size of the cache, and then a host and a port for each app. */
const startScript = `
mkdir -p /tmp/vcl || exit
printf '%s' "$1" >/tmp/vcl/main.vcl
printf '%s' "$2" >/tmp/vcl/rules.vcl
size=$3
shift 3
inner=${firstInnerPort}
while [ $# -gt 1 ]; do
  socat "TCP-LISTEN:$inner,bind=127.0.0.1,fork,reuseaddr" "EXEC:${forward} $1 $2,nofork" &
  inner=$((inner + 1))
  shift 2
done
export PATH="$PATH:/usr/sbin"
program=$(command -v varnishd || command -v vinyld) || exit
exec "$program" -F -j none -n /tmp/varnish -a :${port} -f /tmp/vcl/main.vcl -s "malloc,$size" -p vcl_path=/tmp/vcl
`;

/** One object for each relationship, as rules expect them. Without any, everything has to be answered by the rules themselves. */
function preambleOf(names: readonly string[]): string {
  const backends = names.map(
    (name, index) => `backend ${name}_backend { .host = "127.0.0.1"; .port = "${firstInnerPort + index}"; .first_byte_timeout = 300s; }`,
  );
  const objects = names.map((name) => `  new ${name} = directors.round_robin();\n  ${name}.add_backend(${name}_backend);`);
  return [
    'vcl 4.1;',
    'import std;',
    'import directors;',
    ...(names.length > 0 ? backends : ['backend default none;']),
    'sub vcl_init {',
    ...objects,
    '}',
    'include "/tmp/vcl/rules.vcl";',
    // What the rules leave open goes to the first app.
    ...(names[0] === undefined ? [] : [`sub vcl_recv { if (!req.backend_hint) { set req.backend_hint = ${names[0]}.backend(); } }`]),
    '',
  ].join('\n');
}

const rulesOf = ({ configuration }: ServiceSettings): string => (typeof configuration['vcl'] === 'string' ? configuration['vcl'] : '');

const configuration: ServiceConfiguration = {
  settings: { vcl: { kind: 'text', expected: 'rules in VCL, as text or as !include of the type string', bytesMax: vclBytesMax } },
};

const service: Service = {
  ports: [port],
  keepsData: false,
  writable: ['/tmp', '/run'],
  env: { HOME: '/tmp' },
  initialise: [],
  start: (settings) => [
    'dash',
    '-c',
    startScript,
    'start',
    preambleOf(Object.keys(settings.apps)),
    rulesOf(settings),
    `${mebibytes(settings.limits.memoryBytes * shareOfMemory)}m`,
    ...Object.values(settings.apps).flatMap((app) => [app.host, String(app.port)]),
  ],
  probe: { kind: 'port', port, secondsMax: 60 },
  quiesce: [],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 15 },
  relationship: { rel: 'http', scheme: 'http', port },
  configuration,
  answersRoutes: true,
  reachesApps: true,
};

export const varnish: ServiceEntry = {
  versions: [forky.version('9.0', packages('vinyl-cache', 'socat'), files), trixie.version('7.7', packages('varnish', 'socat'), files)],
  retired: ['5.2', '5.1', '4.1'],
  profile: 'HIGH_MEMORY',
  service,
  isLarge: true,
};
