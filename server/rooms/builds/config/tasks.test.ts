import { expect, test } from 'vitest';
import { buildIdentity } from './identity.ts';
import { app, modelOf, readText, said } from './test-trees.ts';

const withTask = (lines: string) =>
  `${app}services: {db: {type: 'postgresql:17'}}\ntasks:\n  report:\n${lines.replaceAll(/^(?=.)/gm, '    ')}\n`;

test('a task with everything comes out with every key', async () => {
  const { tasks } = await modelOf({
    'report/package.json': '{}',
    '.upsun/config.yaml': withTask(`type: nodejs:22
source: {root: report}
hooks: {build: npm run build, deploy: ./prepare.sh}
relationships: {database: 'db:postgresql'}
mounts:
  files: {source: storage, source_path: files, service: app}
  scratch: {source: tmp, source_path: scratch}
variables: {env: {LEVEL: info}}
additional_hosts: {legacy.example: 192.0.2.7}
container_profile: HIGH_MEMORY
timezone: Europe/Paris
dependencies: {nodejs: {yarn: '1.22'}}
resources: {base_memory: 128}
authorizations: [{type: env, action: view}, {type: task, action: run, resource: other}]
run: {command: node report.js, timeout: 900}`),
  });
  expect(tasks['report']).toEqual({
    name: 'report',
    type: 'nodejs:22',
    source: { root: '/report' },
    hooks: { build: 'npm run build', deploy: './prepare.sh' },
    relationships: { database: { service: 'db', endpoint: 'postgresql' } },
    mounts: {
      '/files': { source: 'storage', source_path: 'files', service: 'app' },
      '/scratch': { source: 'tmp', source_path: 'scratch', service: null },
    },
    variables: { env: { LEVEL: 'info' } },
    additional_hosts: { 'legacy.example': '192.0.2.7' },
    container_profile: 'HIGH_MEMORY',
    timezone: 'Europe/Paris',
    dependencies: { nodejs: { yarn: '1.22' } },
    runtime: {},
    build: { flavor: 'default', caches: {} },
    resources: { base_memory: 128, memory_ratio: 128 },
    authorizations: [
      { type: 'env', action: 'view', resource: null },
      { type: 'task', action: 'run', resource: 'other' },
    ],
    run: { command: 'node report.js', timeout: 900 },
  });
});

test.for<[string, string]>([
  ['run: {command: x}', '7:3 tasks.report.type: Found nothing, expected a type such as nodejs:26.'],
  ['type: nodejs:22', '7:3 tasks.report.run: Found nothing, expected a map with command, timeout.'],
  ['type: nodejs:22\nrun: {command: x, timeout: 0}', 'tasks.report.run.timeout: Found 0, expected a whole number from 1 to 86400 seconds.'],
  ['type: nodejs:22\nrun: {command: x}\ninstances: 2', 'tasks.report.instances: Found the unknown key "instances"'],
  [
    'type: nodejs:22\nrun: {command: x}\nauthorizations: [{type: all, action: x}]',
    'authorizations.0.type: Found the text "all", expected env or task.',
  ],
  ['type: nodejs:22\nrun: {command: x}\nresources: {base_memory: 9}', 'base_memory: Found 9, expected a whole number from 64 to 1024 MB.'],
  ['type: nodejs:22\nrun: {command: x}\nrelationships: {cache: cache}', 'Found "cache", expected a service or an application: '],
  [
    'type: nodejs:22\nrun: {command: x}\nmounts: {m: {source: storage, service: gone}}',
    'Found the service "gone", expected an application: app.',
  ],
])('%j is refused, in words', async ([lines, message]) => {
  const { errors } = await readText(withTask(lines));
  expect(said(errors)).toContainEqual(expect.stringContaining(message));
});

test('a task is built anew when what its build sees has changed, and not for its command', async () => {
  const identityOf = async (lines: string) => {
    const { tasks } = await modelOf({ '.upsun/config.yaml': withTask(`type: nodejs:22\n${lines}`) });
    if (!tasks['report']) throw new Error('There is no task');
    return buildIdentity(tasks['report'], { treeId: 't', buildVariables: [], secret: 's' });
  };
  const first = await identityOf('run: {command: x}');
  expect(first).toMatch(/^report-t-[0-9a-f]{64}$/);
  expect(await identityOf('run: {command: another, timeout: 5}\nhooks: {deploy: y}')).toBe(first);
  expect(await identityOf('run: {command: x}\nhooks: {build: y}')).not.toBe(first);
  expect(await identityOf('run: {command: x}\nmounts: {m: tmp}').catch(() => 'refused')).toBe('refused');
  expect(await identityOf('run: {command: x}\nmounts: {m: {source: tmp}}')).not.toBe(first);
});
