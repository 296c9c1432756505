/** Images from the command line: what there is, building ahead of the first deployment, and making room. */
import { readConfig } from '../server/config.ts';
import { trustedAuthorities } from '../server/drivers/authorities.ts';
import { openImages } from '../server/drivers/images/cached-images.ts';
import { openOutbound } from '../server/drivers/outbound/outbound.ts';
import { builtTypesOf, catalogue, entryOf, imageTypes, statusesOf, typesOf } from '../server/catalogue/catalogue.ts';
import type { Progress } from '../server/drivers/images/images.ts';
import { Problem } from '../server/kernel/problem.ts';
import { offerDescribedTypes } from './service-type.ts';
import { imageLimits } from '../server/rooms/deployments/work.ts';

const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;

/** With the types that the operator described. */
async function openAll() {
  await offerDescribedTypes(readConfig(process.env));
  return open();
}

function open() {
  const config = readConfig(process.env);
  const { images, caCertificates, plainRegistries } = config;
  return openImages(images, imageTypes, {
    authorities: trustedAuthorities(caCertificates),
    outbound: openOutbound(config),
    plainRegistries,
  });
}

export async function listImages() {
  const images = await openAll();
  for (const type of typesOf(catalogue)) {
    const built = await images.built(type);
    const state = built ? ['built'.padEnd(10), megabytes(built.bytes).padStart(8)] : ['not built'];
    const { isDeprecated, isUntried, note } = entryOf(catalogue, type).version;
    const status = isDeprecated ? 'deprecated' : 'supported';
    const remarks = [...(isUntried ? ['untried'] : []), ...(note === undefined ? [] : [note])];
    console.log([type.padEnd(30), status.padEnd(11), ...state, ...(remarks.length === 0 ? [] : [` ${remarks.join(', ')}`])].join(' '));
  }
  for (const [name, entry] of Object.entries(catalogue)) {
    const retired = statusesOf(entry).filter(([, status]) => status === 'retired');
    if (retired.length > 0) console.log(`${name.padEnd(30)} retired     ${retired.map(([version]) => version).join(', ')}`);
  }
}

export async function buildImages(types: readonly string[]) {
  if (types.length === 0) throw new Problem('invalid-request', 'Say which: ./offshoot image build nodejs:22 postgresql:17, or all');
  const images = await openAll();
  const signal = stopOnSignal();
  for (const type of types.includes('all') ? builtTypesOf(catalogue) : types) {
    const started = performance.now();
    const { layers, bytes } = await images.ensure(type, printProgress(type), signal);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${type.padEnd(24)} ${layers.length} layers ${megabytes(bytes).padStart(8)} ${String(seconds).padStart(4)} s`);
  }
}

function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('The build was stopped.')));
  return stop.signal;
}

/** Builds the images that there are anew, with the packages that Debian has now; environments get them when they are redeployed. */
export async function updateImages() {
  const { packages, types } = await (await openAll()).update((line) => console.log(line), stopOnSignal());
  for (const line of packages) console.log(line);
  const next = 'Environments run on them after their next redeployment; services after one for maintenance.';
  console.log(types.length === 0 ? 'Debian has nothing newer.' : `Built anew: ${types.join(', ')}. ${next}`);
}

/** One line for each percent, as builds print a great deal. */
function printProgress(type: string) {
  let last = -1;
  return ({ percent, line }: Progress) => {
    if (percent === last) return;
    last = percent;
    console.log(`${type.padEnd(24)} ${String(percent).padStart(3)}% ${line}`);
  };
}

export async function collectImages() {
  const removed = await (await openAll()).collect(imageLimits);
  console.log(removed.length === 0 ? 'There was nothing to remove.' : `Removed ${removed.length} layers that nothing has used lately.`);
}
