/** A real collector of OpenTelemetry on this machine, which prints what it receives. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { builtProgram, go } from './built-program.ts';

const source = join(import.meta.dirname, 'collector');
const startSecondsMax = 60;

const program = () => {
  const content = ['main.go', 'go.mod', 'go.sum'].map((name) => readFileSync(join(source, name)));
  const made = createHash('sha256').update(Buffer.concat(content)).digest('hex').slice(0, 12);
  return builtProgram(`collector-${made}`, async (scratch) => {
    await cp(source, scratch, { recursive: true });
    await go(scratch, 'build', '-o', 'collector', '.');
  });
};

export interface Collector extends AsyncDisposable {
  url: string;
  /** The lines of logs in the order in which they came, with all that was said of each. */
  records(): CollectedRecord[];
}

export interface CollectedRecord {
  body: string;
  severity: string;
  /** Of the record itself and of the resource that it belongs to. */
  attributes: Record<string, string>;
}

export async function openCollector(port: number): Promise<Collector> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-collector-'));
  const settings = join(folder, 'config.yaml');
  await writeFile(settings, settingsFile(port));
  const child = spawn(join(await program(), 'collector'), [`--config=file:${settings}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, said] = ['', ''];
  child.stdout.on('data', (text: Buffer) => void (printed += text.toString()));
  child.stderr.on('data', (text: Buffer) => void (said += text.toString()));
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    'the collector answers',
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    startSecondsMax,
    () => said,
  );
  return {
    url,
    records: () => recordsIn(printed),
    [Symbol.asyncDispose]: async () => {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      const ended = hasEnded ? undefined : once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const settingsFile = (port: number) => `
receivers:
  otlp: {protocols: {http: {endpoint: '127.0.0.1:${port}'}}}
exporters:
  debug: {verbosity: detailed, use_internal_logger: false}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp], exporters: [debug]}
`;

/** What the exporter prints: blocks of a resource, each with records, whose attributes are listed with the type of each value. */
function recordsIn(printed: string): CollectedRecord[] {
  const records: CollectedRecord[] = [];
  for (const resource of printed.split(/^ResourceLog #\d+/m).slice(1)) {
    const [head = '', ...each] = resource.split(/^LogRecord #\d+/m);
    for (const text of each)
      records.push({
        body: /^Body: Str\((.*)\)$/m.exec(text)?.[1] ?? '',
        severity: /^SeverityText: (.*)$/m.exec(text)?.[1] ?? '',
        attributes: { ...attributesIn(head), ...attributesIn(text) },
      });
  }
  return records;
}

const attributesIn = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^ +-> ([^:]+): \w+\((.*)\)$/gm)].map(([, name = '', value = '']) => [name, value]));
