/** Which spans are transactions, and what is known of them: pure functions of what was reported. What a process says of itself is taken as it is, but who it is comes from its token. */
import type { TransactionRecord } from '../../drivers/metrics/metrics.ts';
import type { Reporter } from '../../drivers/otlp/reporter.ts';
import { type Attributes, type AttributeName, type AttributeValue, type Span, attributeOf } from '../../drivers/otlp/span.ts';

/**
 * A span of a server is one, whoever called it. So is a command or a message: a span that nothing led to, and that calls nobody else. A call without a parent
 * is a part of something that is not reported, and so belongs to no transaction.
 */
export const isTransaction = ({ kind, parent }: Span) => kind === 'server' || (parent === '' && kind !== 'client' && kind !== 'producer');

/** What all transactions of one process have in common. */
export type ProcessDimensions = Pick<
  TransactionRecord,
  'project' | 'environment' | 'application' | 'instance' | 'host' | 'framework' | 'language' | 'runtime' | 'os'
>;

export function processDimensions(resource: Attributes, library: string, reporter: Reporter): ProcessDimensions {
  const text = (name: AttributeName) => textOf(attributeOf(resource, name));
  return {
    project: reporter.project,
    environment: reporter.environment,
    application: reporter.application,
    instance: reporter.instance,
    host: text('host') || reporter.instance,
    framework: text('framework') || frameworkOf(library),
    language: text('language'),
    runtime: runtimeOf(text('runtimeName'), text('runtimeVersion')),
    os: osNames[text('os')] ?? text('os'),
  };
}

export function transactionOf(span: Span, process: ProcessDimensions): TransactionRecord {
  const { attributes, kind } = span;
  const text = (name: AttributeName) => textOf(attributeOf(attributes, name));
  const method = text('method').toLowerCase();
  return {
    ...process,
    time: span.start,
    context: kind === 'server' || method !== '' ? 'web' : 'cli',
    transaction: named(text('route')) ?? named(span.name),
    status: statusOf(span),
    httpHost: text('httpHost').replace(/:\d+$/, '').toLowerCase(),
    method: methods.has(method) ? method : '',
    wallTime: wallTimeOf(span),
    peakMemory: amountOf(attributeOf(attributes, 'peakMemory')),
    output: amountOf(attributeOf(attributes, 'output')),
  };
}

const textCharactersMax = 200;
/** Longer texts are cut where they do not end in half a character. */
export const cut = (text: string) => text.slice(0, textCharactersMax).toWellFormed();
const textOf = (value: AttributeValue | undefined) => (value === undefined ? '' : cut(String(value)));

const named = (name: string) => (name.trim() === '' ? undefined : cut(name));

const methods: ReadonlySet<string> = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace', 'connect', 'query']);

const secondsMax = 24 * 60 * 60;

/** Microseconds, as a whole number within a day: clocks are set, and anybody can claim anything. */
export const wallTimeOf = ({ microseconds }: Pick<Span, 'microseconds'>) =>
  Math.round(Math.min(Math.max(microseconds, 0), secondsMax * 1e6));

/** Whoever failed and gave no status would have answered with this one. */
const failed = 500;

function statusOf({ attributes, isError }: Span): number {
  const status = Number(attributeOf(attributes, 'status'));
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : isError ? failed : 0;
}

const amountMax = 2 ** 50;

/** Bytes; 0 where nobody says. */
function amountOf(value: unknown): number {
  const amount = Number(value);
  return Number.isFinite(amount) ? Math.round(Math.min(Math.max(amount, 0), amountMax)) : 0;
}

const osNames: Partial<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', windows: 'Windows' };

/** What PHP gives as the name of its runtime is how it is run. */
const waysToRunPhp: ReadonlySet<string> = new Set([
  'fpm-fcgi',
  'cgi-fcgi',
  'cli',
  'cli-server',
  'apache2handler',
  'frankenphp',
  'litespeed',
]);

const runtimeOf = (name: string, version: string) => cut(waysToRunPhp.has(name) ? `PHP ${version} (${name})` : `${name} ${version}`.trim());

/** Words by which libraries of OpenTelemetry for frameworks are known, whichever language they are for. */
const frameworks = [
  'express',
  'fastify',
  'koa',
  'nestjs',
  'hapi',
  'restify',
  'nextjs',
  'nuxt',
  'symfony',
  'laravel',
  'slim',
  'wordpress',
  'drupal',
  'yii',
  'cakephp',
  'codeigniter',
  'flask',
  'django',
  'fastapi',
  'starlette',
  'falcon',
  'tornado',
  'pyramid',
  'aiohttp',
  'rails',
  'sinatra',
  'rack',
  'grape',
  'spring',
  'quarkus',
  'jetty',
  'tomcat',
  'aspnetcore',
  'otelgin',
  'otelecho',
  'otelmux',
  'otelfiber',
  'phoenix',
];

const known = new Map<string, string>();
const knownMax = 1000;

/** The framework that a library is for; empty where it is for none. */
export function frameworkOf(library: string): string {
  const found = known.get(library) ?? frameworks.find((framework) => library.toLowerCase().includes(framework))?.replace(/^otel/, '') ?? '';
  if (known.size < knownMax) known.set(library, found);
  return found;
}
