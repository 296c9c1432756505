/** An app with the SDK of OpenTelemetry, in a container, told by nothing but its variables: what it was asked is what the store has of it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { isTooMuch } from '../../drivers/metrics/metrics.ts';
import { openTestDeployments, type Content, type TestDeployments } from '../../testing/deployed-project.ts';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { takeTraces } from './otlp-intake.ts';
import { ownReportsOf, tracesEndpoint } from './public.ts';

const imagesMillisecondsMax = 600_000;
const timeout = 300_000;
const waiting = { timeout: 60_000, interval: 200 };

const files: Content = {
  '.upsun/config.yaml': `
applications:
  app:
    type: nodejs:22
    hooks: { deploy: 'echo "reports with $OTEL_EXPORTER_OTLP_HEADERS"' }
    web: { commands: { start: exec node server.js } }
routes:
  http://{default}/: { type: upstream, upstream: 'app:http' }
`,
  'package.json': JSON.stringify({
    name: 'traced',
    version: '1.0.0',
    dependencies: {
      '@opentelemetry/api': '1.9.0',
      '@opentelemetry/exporter-trace-otlp-proto': '0.203.0',
      '@opentelemetry/sdk-trace-node': '2.0.1',
    },
  }),
  'server.js': `
const { SpanKind, trace } = require('@opentelemetry/api');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');
const processor = new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: 200 });
new NodeTracerProvider({ spanProcessors: [processor] }).register();
const tracer = trace.getTracer('@opentelemetry/instrumentation-express');
require('node:http').createServer(({ method, url }, reply) => {
  const route = url.replace(/\\d+/, ':id');
  tracer.startActiveSpan(method + ' ' + route, { kind: SpanKind.SERVER }, (span) => {
    tracer.startActiveSpan('SELECT', { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql' } }, (query) => query.end());
    const status = url === '/fails' ? 500 : 200;
    span.setAttributes({ 'http.route': route, 'http.request.method': method, 'http.response.status_code': status });
    span.end();
    reply.writeHead(status).end(url);
  });
}).listen(process.env.PORT, '0.0.0.0');
`,
};

describe.runIf(canRunContainers)(`a traced app${whyNoContainers}`, () => {
  let all: TestDeployments;
  const stop = new AbortController();
  let listening: Promise<void>;

  beforeAll(async () => {
    all = await openTestDeployments();
    const { platform } = all.home;
    platform.config.tracesPort = await freePort();
    all.machine.traces = tracesEndpoint(platform.config, platform.secrets);
    listening = takeTraces.listen(platform, stop.signal);
    await all.machine.images.ensure('nodejs:22');
  }, imagesMillisecondsMax);
  afterAll(async () => {
    stop.abort();
    await listening;
    await all.close();
  });

  test('has as many transactions as it was sent requests, and as many spans below them', { timeout }, async () => {
    const { platform } = all.home;
    const project = await all.project();
    // No log shows the token, whoever prints it.
    expect(await project.push(files)).toMatch(/reports with authorization=Bearer%20\*{5}$/m);
    const [instance] = await project.instances();
    if (!instance || 'socket' in instance.address) throw new Error('There is no instance');
    const { host, port } = instance.address;
    const asked = ['/', ...Array.from({ length: 20 }, (_, nth) => `/products/${nth}`), '/fails', '/fails'];
    for (const path of asked) await (await fetch(`http://${host}:${port}${path}`)).text();

    const { machine_name } = await project.row();
    const scope = { project: project.projectId, environment: machine_name };
    const now = Math.floor(Date.now() / 1000);
    const window = { ...scope, from: now - 600, to: now + 600, filters: {} };
    const counts = async () => {
      await platform.metrics.settled();
      const answer = await platform.metrics.breakdown({ ...window, grain: 60, dimension: 'wt', sort: 'impact', limit: 10 });
      if (isTooMuch(answer)) throw new Error('This cannot be too much');
      return Object.fromEntries(
        answer.rows.map(({ transaction, total_requests, total_errors }) => [transaction, [total_requests, total_errors]]),
      );
    };
    await expect.poll(counts, waiting).toEqual({ '/': [1, 0], '/products/:id': [20, 0], '/fails': [2, 2] });
    const spans = await platform.metrics.topSpans({ ...window, sort: 'count', limit: 10 });
    expect(spans).toEqual([expect.objectContaining({ id: 'SELECT', service_name: 'postgresql', count: asked.length })]);
    expect(ownReportsOf(platform.db).has(scope, 'app')).toBe(true);

    // Containers reach this port of the machine, and no other.
    const reached = (to: number) =>
      project.inside(
        `node -e 'fetch("http://platform.offshoot.internal:${to}/", { signal: AbortSignal.timeout(1500) }).then(({ status }) => console.log(status), () => console.log("no"))'`,
      );
    expect(await reached(platform.config.tracesPort)).toBe('404');
    expect(await reached(22)).toBe('no');
  });
});
