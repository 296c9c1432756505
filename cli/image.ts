/** Images from the command line: what there is, building ahead of the first deployment, and making room. */
import { readConfig } from '../server/config.ts';
import { openImages } from '../server/drivers/images/cached-images.ts';
import { catalogue, typesOf } from '../server/drivers/images/catalogue.ts';
import type { Progress } from '../server/drivers/images/images.ts';
import { Problem } from '../server/kernel/problem.ts';

const unusedSecondsMax = 30 * 86_400;
const bytesMax = 20e9;
const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;

const open = () => openImages(readConfig(process.env).images, catalogue);

export async function listImages() {
  const images = open();
  for (const type of typesOf(catalogue)) {
    const built = await images.built(type);
    console.log([type.padEnd(24), ...(built ? ['built'.padEnd(10), megabytes(built.bytes).padStart(8)] : ['not built'])].join(' '));
  }
}

export async function buildImages(types: readonly string[]) {
  if (types.length === 0) throw new Problem('invalid-request', 'Say which: ./offshoot image build nodejs:22 postgresql:17, or all');
  const images = open();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('The build was stopped.')));
  for (const type of types.includes('all') ? typesOf(catalogue) : types) {
    const started = performance.now();
    const { layers, bytes } = await images.ensure(type, printProgress(type), stop.signal);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${type.padEnd(24)} ${layers.length} layers ${megabytes(bytes).padStart(8)} ${String(seconds).padStart(4)} s`);
  }
}

/** One line for each percent: builds say a great deal. */
function printProgress(type: string) {
  let last = -1;
  return ({ percent, line }: Progress) => {
    if (percent === last) return;
    last = percent;
    console.log(`${type.padEnd(24)} ${String(percent).padStart(3)}% ${line}`);
  };
}

export async function collectImages() {
  const removed = await open().collect({ ageSecondsMax: unusedSecondsMax, bytesMax });
  console.log(removed.length === 0 ? 'There was nothing to remove.' : `Removed ${removed.length} layers that nothing has used lately.`);
}
