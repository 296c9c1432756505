/** What containers are told about traces, and that telling it starts nothing anew. */
import { expect, test } from 'vitest';
import { openReporterTokens } from '../../../drivers/otlp/reporter.ts';
import { openSecrets } from '../../../kernel/secrets.ts';
import { app, sampleStack, shop, task, worker } from '../../../testing/stack.ts';
import { allInstancesOf, essenceOf, onceContainerOf, reporterOf, runnablesOf, servicesOf, volumesOf } from './containers.ts';
import { hiddenValues } from './hidden-values.ts';
import { located, type StackLocations } from './located.ts';
import { sensitiveValues } from './runtime-variables.ts';
import { typesOf } from './stack-locations.ts';
import type { Stack } from './stack.ts';

const tokens = openReporterTokens(openSecrets([Buffer.alloc(32, 1)]));
const traces = { url: 'http://platform.offshoot.internal:4319', tokens };

const locationsFor = (stack: Stack): StackLocations => ({
  addresses: new Map(),
  layers: new Map(typesOf(stack).map((type) => [type, [`/layers/${type}`]])),
  folders: new Map(
    [...volumesOf(stack).map(({ name }) => name), ...Object.values(stack.slugs).map(({ volume }) => volume), 'logs'].map((name) => [
      name,
      `/${name}`,
    ]),
  ),
  traces,
});

const withVariable = (stack: Stack, name: string, value: string): Stack => ({
  ...stack,
  secrets: {
    ...stack.secrets,
    variables: [
      {
        name: `env:${name}`,
        value,
        is_json: false,
        is_sensitive: false,
        visible_build: false,
        visible_runtime: true,
        application_scope: [],
      },
    ],
  },
});

const envOf = (stack: Stack, index = 0) => {
  const wanted = allInstancesOf(stack, {})[index];
  if (!wanted) throw new Error('There is no such instance');
  return located(wanted, locationsFor(stack)).env;
};

const claimsIn = (headers = '') => tokens.read(decodeURIComponent(headers.replace('authorization=', '')).replace('Bearer ', ''));

test('each instance is told where to report, with a token of its own', () => {
  const stack = sampleStack();
  const env = envOf(stack);
  expect(env).toMatchObject({
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  });
  expect(env['OTEL_RESOURCE_ATTRIBUTES']).toBe(
    `service.instance.id=shop.0,service.namespace=${stack.project.id},deployment.environment.name=${stack.environment.machine_name}`,
  );
  expect(env['OTEL_EXPORTER_OTLP_HEADERS']).toMatch(/^authorization=Bearer%20[\w-]+$/);
  expect(claimsIn(env['OTEL_EXPORTER_OTLP_HEADERS'])).toEqual({
    project: stack.project.id,
    environment: stack.environment.machine_name,
    stack: stack.id,
    application: 'shop',
    instance: 'shop.0',
  });
  expect(envOf(stack)).toEqual(env);
});

test('workers report for their app, hooks too, and services not at all', () => {
  const model = { ...shop(), applications: { shop: app('shop', { workers: { mail: worker() } }) } };
  const stack = sampleStack(model);
  const sizes = { ...stack.sizes, workers: { 'shop--mail': { profile_size: '0.5', instance_count: 1, disk: null } } };
  const told = { ...stack, sizes };
  const instances = allInstancesOf(told, {});
  expect(instances.map(({ reporter }) => [reporter?.application, reporter?.instance])).toEqual([
    ['shop', 'shop.0'],
    ['shop', 'shop.1'],
    ['shop', 'shop--mail.0'],
  ]);
  const [once] = Object.values(told.model.applications).map((each) => onceContainerOf(told, each, {}));
  expect(once && located(once, locationsFor(told)).env).toHaveProperty('OTEL_EXPORTER_OTLP_HEADERS');
  for (const { container } of servicesOf(told))
    expect(Object.keys(located(container, locationsFor(told)).env).join()).not.toContain('OTEL');
});

test('variables of the user win', () => {
  const stack = withVariable(sampleStack(), 'OTEL_SERVICE_NAME', 'storefront');
  expect(envOf(stack)).toMatchObject({ OTEL_SERVICE_NAME: 'storefront', OTEL_EXPORTER_OTLP_ENDPOINT: traces.url });
});

test.each(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])(
  'whoever sets %s is not given a token to send there',
  (name) => {
    const env = envOf(withVariable(sampleStack(), name, 'https://collector.example.org'));
    expect(env[name]).toBe('https://collector.example.org');
    for (const ours of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_METRICS_EXPORTER'])
      expect(env).not.toHaveProperty(ours);
  },
);

test('a branch has other tokens than its parent', () => {
  const stack = sampleStack();
  const branch = { ...stack, id: 'other', environment: { ...stack.environment, id: 'branch', machine_name: 'branch-xyz' } };
  expect(envOf(branch)['OTEL_EXPORTER_OTLP_HEADERS']).not.toBe(envOf(stack)['OTEL_EXPORTER_OTLP_HEADERS']);
});

test('where traces go is no reason to start an app anew', () => {
  const stack = sampleStack();
  for (const runnable of runnablesOf(stack)) expect(essenceOf(stack, runnable)).not.toMatch(/OTEL|reporter/);
});

test('no log shows the token of any container of the environment, tasks included, beside what else is secret', () => {
  const stack = sampleStack({ ...shop(), tasks: { report: task('report') } });
  const hidden = hiddenValues(stack, { traces });
  const told = allInstancesOf(stack, {}).map((wanted) => located(wanted, locationsFor(stack)).env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const ofTask = tokens.issue(reporterOf(stack, task('report'), 0));
  expect(told.length).toBeGreaterThan(3);
  expect(told.filter((headers) => !hidden.some((value) => headers.endsWith(value)))).toEqual([]);
  expect(hidden).toEqual(expect.arrayContaining([ofTask, ...sensitiveValues(stack)]));
  expect(hiddenValues(stack, {})).toEqual(sensitiveValues(stack));
});

test('where nobody takes traces, nobody is told of any', () => {
  const stack = sampleStack();
  const [wanted] = allInstancesOf(stack, {});
  const { traces: _, ...locations } = locationsFor(stack);
  expect(wanted && Object.keys(located(wanted, locations).env).join()).not.toContain('OTEL');
});
