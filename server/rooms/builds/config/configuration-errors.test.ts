/** What is said about a configuration that is wrong, or asks for what there is not. */
import { expect, test } from 'vitest';
import { printMessages } from './message.ts';
import { readConfiguration } from './read-configuration.ts';
import { app, inApp, options, readText, said, treeOf } from './test-trees.ts';

const errorsOf = async (yaml: string) => said((await readText(yaml)).errors);
const warningsOf = async (yaml: string) => said((await readText(yaml)).warnings);

test.for<[string, string, string[]]>([
  [
    'a text where a map belongs',
    inApp('hooks: make'),
    ['5:12 applications.app.hooks: Found the text "make", expected a map with build, deploy, post_deploy, sanitize.'],
  ],
  [
    'a list where a text belongs',
    inApp('hooks:\n  build:\n    - make'),
    ['6:7 applications.app.hooks.build: Found a list, expected a script.'],
  ],
  [
    'a missing type',
    'applications:\n  app:\n    web: {}',
    ['2:3 applications.app.type: Found nothing, expected a type such as nodejs:26, or an image, or a dockerfile.'],
  ],
  [
    'a version that does not exist',
    'applications: {app: {type: "nodejs:5"}}',
    [
      '1:28 applications.app.type: Found the type "nodejs:5", expected a version that exists: nodejs:26, nodejs:24, nodejs:22. The nearest is "type: nodejs:22".',
    ],
  ],
  [
    'a version between two',
    'applications: {app: {type: "nodejs:23"}}',
    [
      '1:28 applications.app.type: Found the type "nodejs:23", expected a version that exists: nodejs:26, nodejs:24, nodejs:22. The nearest is "type: nodejs:24".',
    ],
  ],
  [
    'an extension that only another version has',
    inApp('', 'services: {db: {type: "postgresql:16", configuration: {extensions: [pg_trgm, vector, vectr]}}}'),
    [
      '6:78 services.db.configuration.extensions.1: Found the extension "vector", which postgresql:16 does not have; postgresql:17 has it.',
      expect.stringMatching(
        /^6:86 services\.db\.configuration\.extensions\.2: Found the extension "vectr", which postgresql:16 does not have; expected one of /,
      ) as string,
    ],
  ],
  [
    'a composable type',
    'applications: {app: {type: "composable:25.11"}}',
    [
      '1:28 applications.app.type: Found the type "composable:25.11", but composable images are not offered here; expected one of nodejs, golang, php, python, ruby, static, with a version.',
    ],
  ],
  [
    'a service as an application',
    'applications: {app: {type: "redis:7.0"}}',
    [
      '1:28 applications.app.type: Found the type "redis:7.0", which is for services; expected one of nodejs, ruby, php, static, python, golang.',
    ],
  ],
  [
    'a name that is none',
    'applications: {My App: {type: "nodejs:22"}}',
    ['1:16 applications.My App: Found the name "My App", expected lower-case letters, digits, single - and _, 63 characters at most.'],
  ],
  [
    'a service that is not there',
    inApp('relationships: {db: }', 'services: {database: {type: "postgresql:17"}}'),
    ['5:21 applications.app.relationships.db: Found "db", expected a service or an application: app, database.'],
  ],
  [
    'an endpoint that is not there',
    inApp('relationships: {db: "db:admin"}', 'services: {db: {type: "postgresql:17"}}'),
    ['5:25 applications.app.relationships.db: Found the endpoint "admin" of the service "db", expected postgresql.'],
  ],
  [
    'no default endpoint',
    inApp(
      'relationships: {db: }',
      'services: {db: {type: "mariadb:10.11", configuration: {schemas: [a], endpoints: {x: {privileges: {a: ro}}, y: {}}}}}',
    ),
    [
      '5:21 applications.app.relationships.db: "db" targets a service without a valid default endpoint configuration; expected one of x, y.',
    ],
  ],
  [
    'a schema nobody declared',
    inApp('', 'services: {db: {type: "mariadb:10.11", configuration: {schemas: [a], endpoints: {x: {privileges: {b: ro}}}}}}'),
    ['6:82 services.db.configuration.endpoints.x: Found "b", expected one of schemas: a.'],
  ],
  [
    'a name for statements',
    inApp('', `services: {db: {type: "postgresql:17", configuration: {databases: ["a'; drop"]}}}`),
    [
      `6:68 services.db.configuration.databases.0: Found the text "a'; drop", expected letters, digits, _ and -, 48 at most, and no name that the service has itself.`,
    ],
  ],
  [
    'nested mounts',
    inApp('mounts:\n  var: {source: storage}\n  var/cache: {source: tmp}'),
    [
      '7:7 applications.app.mounts.var/cache: Found a mount of the source tmp that is nested with "/var" of the source storage, expected one source for both.',
    ],
  ],
  [
    'a mount outside',
    inApp('mounts: {/../other: {source: storage}}'),
    ['5:14 applications.app.mounts./../other: Found the path "/../other", expected a folder inside the application.'],
  ],
  [
    'a mount of nobody',
    inApp('mounts: {x: {source: storage, service: ap}}'),
    ['5:14 applications.app.mounts.x: Found the service "ap", expected an application: app.'],
  ],
  [
    'a schedule',
    inApp('crons: {a: {spec: "61 * * * *", commands: {start: x}}}'),
    ['5:23 applications.app.crons.a.spec: Found the schedule "61 * * * *", expected 0 to 59 for the minute, not "61".'],
  ],
  [
    'a cron without a command',
    inApp('crons: {a: {spec: "1 * * * *"}}'),
    ['5:13 applications.app.crons.a.commands: Found no commands, expected a map with start.'],
  ],
  [
    'a worker without a command',
    inApp('workers: {w: {commands: {}}}'),
    ['5:19 applications.app.workers.w.commands.start: Found nothing, expected a command.'],
  ],
  [
    'a rule that is no expression',
    inApp('', '').replace('web: {', 'web: {locations: {/: {rules: {"(": {}}}}, '),
    ['4:35 applications.app.web.locations./.rules.(: Found the name "(", expected a regular expression.'],
  ],
  [
    'both ips and domains',
    inApp('firewall: {outbound: [{ips: [10.0.0.0/8], domains: [a.b]}, {}]}'),
    [
      '5:27 applications.app.firewall.outbound.0: Found both ips and domains, expected one of them in each rule.',
      '5:64 applications.app.firewall.outbound.1: Found an empty rule, expected protocol, ips, domains or ports.',
    ],
  ],
  [
    'a variable without a prefix',
    inApp('variables: {NAME: value}'),
    ['5:23 applications.app.variables.NAME: Found the text "value", expected a map of values by name.'],
  ],
  [
    'a time zone',
    inApp('timezone: Mars/Olympus'),
    ['5:15 applications.app.timezone: Found the text "Mars/Olympus", expected the name of a time zone such as Europe/Paris.'],
  ],
  [
    'a folder that is not there',
    inApp('source: {root: frontend}'),
    ['5:20 applications.app.source.root: Found "/frontend", expected a folder of the repository.'],
  ],
  [
    'an upstream that does not answer HTTP',
    `${app}services: {db: {type: 'redis:7.0'}}\nroutes: {'https://{default}/': {type: upstream, upstream: 'db:redis'}}`,
    ['6:59 routes.https://{default}/.upstream: Found the service "db", which does not answer HTTP, expected an application.'],
  ],
  [
    'an upstream that is not there',
    `${app}routes: {'https://{default}/': {type: upstream, upstream: 'web:http'}}`,
    ['5:59 routes.https://{default}/.upstream: Found "web", expected a service or an application: app.'],
  ],
  [
    'a port in a route',
    `${app}routes: {'https://{default}:8443/': {type: upstream, upstream: 'app:http'}}`,
    [
      '5:10 routes.https://{default}:8443/: Found the URL "https://{default}:8443/", expected one such as https://{default}/ or https://www.example.com/path/, without another port.',
    ],
  ],
  [
    'a redirect that leads nowhere',
    `${app}routes: {'https://{default}/': {type: redirect}}`,
    ['5:10 routes.https://{default}/.to: Found nothing, expected where it leads, such as https://{default}/.'],
  ],
  [
    'two primary routes',
    `${app}routes:\n  https://a.{default}/: {type: upstream, upstream: 'app:http', primary: true}\n  https://b.{default}/: {type: upstream, upstream: app, primary: true}`,
    ['7:66 routes.https://b.{default}/.primary: Found a second primary route, expected one.'],
  ],
  [
    'the same route twice',
    `${app}routes:\n  https://{default}/: {type: upstream, upstream: app}\n  https://{default}: {type: upstream, upstream: app}`,
    ['7:3 routes.https://{default}: Found a second route for "https://{default}/", expected one.'],
  ],
  [
    'a redirect with too much',
    `${app}routes:\n  https://{default}/: {type: upstream, upstream: app, redirects: {paths: {'^/a': {to: /b, regexp: true, prefix: false}, x: {to: /}}}}`,
    [
      '6:75 routes.https://{default}/.redirects.paths.^/a: Found regexp together with prefix or append_suffix, expected regexp alone.',
      '6:121 routes.https://{default}/.redirects.paths.x: Found "x", expected a path that begins with /.',
    ],
  ],
  [
    'a key that is mistyped',
    inApp('web:\n  comands: {start: x}').replace('    web: {commands: {start: node server.js}}\n', ''),
    [
      '5:7 applications.app.web.comands: Found the unknown key "comands" (did you mean "commands"?), expected one of commands, upstream, locations, relationships, mounts, variables, additional_hosts, container_profile, access, firewall, size, disk, resources.',
    ],
  ],
  [
    'a key that nothing is like',
    inApp('', 'services: {db: {type: "postgresql:17", zoo: 1}, m: {type: "memcached:1.6", configuration: {size: 1}}}'),
    [
      '6:40 services.db.zoo: Found the unknown key "zoo", expected one of type, configuration, relationships, container_profile, size, disk.',
      '6:92 services.m.configuration.size: Found the key "size", expected none: memcached:1.6 has nothing to configure.',
    ],
  ],
  [
    'an extension of PHP that there is not',
    inApp('runtime: {extensions: [redis, imagick, json, imagik, {name: newrelic}], disabled_extensions: [pdo, json, x]}').replace(
      'nodejs:22',
      'php:8.2',
    ),
    [
      '5:50 applications.app.runtime.extensions.3: Found the extension "imagik", expected one of imagick, blackfire; pdo, redis, json are there anyway.',
      '5:58 applications.app.runtime.extensions.4: Found the extension "newrelic", expected one of imagick, blackfire; pdo, redis, json are there anyway.',
      '5:104 applications.app.runtime.disabled_extensions.1: Found the extension "json", expected one of pdo, redis.',
      '5:110 applications.app.runtime.disabled_extensions.2: Found the extension "x", expected one of pdo, redis.',
    ],
  ],
  ['a key that is there twice', `${app}    type: nodejs:24`, ['5:5 : Found the key "type" a second time, expected it once.']],
  ['a tag that is not ours', inApp('hooks: {build: !secret x}'), ['5:28 : Found the tag "!secret", expected !include, !archive or none.']],
  [
    'no YAML at all',
    'applications: [',
    ['1:16 : This is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ].'],
  ],
])('%s is an error that says where and what was expected', async ([, yaml, expected]) => {
  expect(await errorsOf(yaml)).toEqual(expected);
});

test('applications may not go round in a circle', async () => {
  const one = (name: string, to: string) =>
    `  ${name}:\n    type: nodejs:22\n    web: {commands: {start: x}}\n    relationships: {other: '${to}:http'}\n`;
  expect(await errorsOf(`applications:\n${one('a', 'b')}${one('b', 'a')}`)).toEqual([
    '5:5 applications.a.relationships: Found a circle of applications, a → b → a, expected none.',
  ]);
});

test('all errors are there at once, and are printed with what to do first', async () => {
  const outcome = await readText(inApp('timezone: 5\nhooks: {biuld: x}\ncrons: {a: {spec: x}}', 'services: {db: {type: oracle}}'));
  expect(outcome.errors).toHaveLength(5);
  expect(printMessages(outcome)).toBe(`E: Error parsing configuration files:
    - .upsun/config.yaml:5:15: applications.app.timezone: Found 5, expected the name of a time zone such as Europe/Paris.
    - .upsun/config.yaml:6:13: applications.app.hooks.biuld: Found the unknown key "biuld" (did you mean "build"?), expected one of build, deploy, post_deploy, sanitize.
    - .upsun/config.yaml:7:13: applications.app.crons.a.commands: Found no commands, expected a map with start.
    - .upsun/config.yaml:7:23: applications.app.crons.a.spec: Found the schedule "x", expected five fields: minute, hour, day, month, day of the week.
    - .upsun/config.yaml:8:23: services.db.type: Found the type "oracle", expected one of mysql, redis, mariadb, memcached, rabbitmq, postgresql, redis-persistent.
E: Error: Invalid configuration files, aborting build
`);
});

test('what cannot be honoured is a warning that names it', async () => {
  expect(
    await warningsOf(
      inApp(
        'disk: 1024\nstack: {}\npreflight: {ignored_rules: [x]}\nbuild: {flavor: drupal}\nmounts: {.cache: {source: tmp}}\ncrons: {often: {spec: "* * * * *", cmd: x}}\nruntime: {}',
        `routes: {'https://{default}/': {type: upstream, upstream: app, ssi: true, http_access: {}, to: 'https://x/'}}`,
      ),
    ),
  ).toEqual([
    '5:11 applications.app.disk: This is ignored: sizes and disks are set for each environment, not in files.',
    '6:5 applications.app.stack: "stack" is ignored: composable images are not offered here.',
    '7:17 applications.app.preflight.ignored_rules: "ignored_rules" is ignored: there are no rules to ignore here.',
    '8:21 applications.app.build.flavor: The flavor "drupal" is ignored; "default" is used for nodejs.',
    '9:14 applications.app.mounts..cache: A key that begins with a dot is ignored; write it with a slash in front.',
    '10:27 applications.app.crons.often.spec: This cron runs at most every 5 minutes, whatever "* * * * *" says.',
    '11:5 applications.app.runtime: "runtime" is ignored: it sets up PHP, and this is nodejs.',
    '12:75 routes.https://{default}/.http_access: "http_access" is ignored: it is set for each environment.',
    '12:96 routes.https://{default}/.to: "to" is ignored: a route of the type upstream has none.',
  ]);
});

test('how often a cron runs at most is what the project says', async () => {
  const tree = () => treeOf({ '.upsun/config.yaml': inApp('crons: {often: {spec: "* * * * *", commands: {start: "true"}}}') });
  const warnings = async (cronMinutesMin: number) => said((await readConfiguration(tree(), { ...options, cronMinutesMin })).warnings);
  expect(await warnings(1)).toEqual([]);
  expect(await warnings(7)).toEqual([expect.stringContaining('This cron runs at most every 7 minutes')]);
});
