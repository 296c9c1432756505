/** Where the images and volumes of a stack are on this machine, and where domains are that it may reach. */
import { isStorage, typeBelow } from '../../../catalogue/catalogue.ts';
import type { Images as Driver } from '../../../drivers/images/images.ts';
import type { Work } from '../../../kernel/activity.ts';
import type { Db } from '../../../kernel/sql.ts';
import type { Machine } from '../../../machine.ts';
import { projectLimit } from '../../projects/public.ts';
import { ensureAppLogs, stackLogs } from '../inside/app-logs.ts';
import { logsVolume, volumesOf } from './containers.ts';
import type { StackLocations } from './located.ts';
import { addressesOf, domainsOf } from './outbound.ts';
import type { Stack } from './stack.ts';

/** The types of all that runs, or may be asked to run. */
export const typesOf = ({ model: { applications, tasks, services }, slugs }: Images): string[] => {
  const types = [applications, tasks, services].flatMap((group) => Object.values(group).map(({ type }) => typeBelow(type)));
  const brought = Object.values(slugs).flatMap(({ image }) => image?.type ?? []);
  return [...new Set([...types, ...brought].filter((type) => !isStorage(type)))];
};

/** What tells which images a stack is made of: those of the catalogue, and those that its apps brought. */
type Images = Pick<Stack, 'model' | 'slugs'>;

const progressPercent = 20;

/** How many images are built at once for one organization; images of apps are built with the app. */
const imagesOfOneMax = 2;
const withinImageLimit = projectLimit(imagesOfOneMax);

/** The types of services alone: images of apps and tasks are prepared when these are built. */
export function serviceTypesOf({ model }: Pick<Stack, 'model'>): string[] {
  const built = new Set(typesOf({ model: { ...model, services: {} }, slugs: {} }));
  return typesOf({ model, slugs: {} }).filter((type) => !built.has(type));
}

/** Builds images that are missing. This takes a while, so the log tells of it. */
export const prepareImages = (work: ImageWork, db: Db, machine: Pick<Machine, 'images'>, stack: Images, signal: AbortSignal) =>
  prepareTypes(work, db, machine, typesOf(stack), signal);

export type ImageWork = Pick<Work<unknown>, 'activity' | 'log' | 'wait'>;

export async function prepareTypes(
  work: ImageWork,
  db: Db,
  { images }: Pick<Machine, 'images'>,
  types: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const type of types) {
    if (await images.built(type)) continue;
    const onWait = () => work.log(`  Waiting for other images before ${type}`);
    await withinImageLimit(db, work.activity.project_id, work, { signal, onWait }, () => prepareImage(images, type, work.log, signal));
  }
}

async function prepareImage(images: Driver, type: string, log: (line: string) => void, signal: AbortSignal) {
  // Behind `#` stands a hash of the credentials that an image was had with.
  log(`  Preparing ${type.split('#', 1)[0]}, which is needed for the first time`);
  let told = 0;
  const onProgress = ({ percent, line }: { percent: number; line: string }) => {
    if (percent < told + progressPercent) return;
    told = percent;
    log(`    ${Math.floor(percent)} %: ${line}`);
  };
  await images.ensure(type, onProgress, signal);
}

/** Images and volumes that do not exist are left out; whoever needs one of them fails then. */
export async function locationsOf(machine: Machine, stack: Stack): Promise<StackLocations> {
  const { images, volumes } = machine;
  const names = [...Object.values(stack.slugs).map(({ volume }) => volume), ...volumesOf(stack).map(({ name }) => name)];
  const [addresses, layers, folders] = await Promise.all([
    addressesOf(machine, domainsOf(stack.model)),
    Promise.all(typesOf(stack).map(async (type) => [type, (await images.ensure(type)).layers] as const)),
    Promise.all(names.map(async (name) => [name, (await volumes.volume(name))?.path] as const)),
    ensureAppLogs(machine, stack),
  ]);
  return {
    addresses,
    traces: machine.traces,
    layers: new Map(layers),
    folders: new Map([
      ...folders.flatMap(([name, path]) => (path === undefined ? [] : [[name, path] as const])),
      [logsVolume, stackLogs(machine, stack)],
    ]),
  };
}
