/**
 * A deployment whose data comes from a backup. It is fetched while what ran so far serves, takes the place of the environment's own once all of it is
 * there, and what was there before stays until the deployment is current. What cannot work is refused before anything is touched.
 */
import { catalogue, dataFormatOf, entryOf, nameOfType, serviceOfType } from '../../../catalogue/catalogue.ts';
import type { Work } from '../../../kernel/activity.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { slugIn, type ProjectModel, type Slug } from '../../builds/public.ts';
import { adoptSlug, useSlug } from '../../builds/work.ts';
import type { Built } from './ongoing-deployment.ts';
import { labelOf, nameInStack } from '../stack/names.ts';
import { currentStack } from '../queries.ts';
import type { SizesInit } from '../sizes/sizes.ts';
import { cloningsOf, fetchVolumes, type Cloning, type Source } from './stack-volumes.ts';
import type { Sizes, Stack } from '../stack/stack.ts';

/** Which backup is to be restored, and what of it. */
export interface RestorePlan {
  /** What people call the backup: `backup abcdefghij234 of main`. */
  title: string;
  /** What ran when the backup was made. */
  stack: Stack;
  /** Whether the code of the backup runs again; otherwise only its data is taken over. */
  restoresCode: boolean;
  /** Whether the backup is restored into another environment than its own: then its data is sanitized, and its variables are not taken over. */
  isElsewhere: boolean;
  /** Where new containers get their sizes from. */
  init: SizesInit;
  /** Whether containers that are there get the sizes of the backup. */
  restoresSizes: boolean;
}

export interface Restoring extends RestorePlan, Source {
  /** When the backup was made. */
  madeAt?: string | undefined;
  /** The parts of the backup: volumes, by the names that `nameInStack` gives, and slugs. */
  parts: readonly { name: string; bytes: number }[];
}

/** The name of a slug among the parts of a backup. */
export const slugPart = (app: string) => `slug-${labelOf(app)}`;

/** The volumes that the backup has and the stack wants. */
export const restoredVolumes = (wanted: Stack, { stack, parts }: Restoring): Cloning[] =>
  cloningsOf(wanted, stack).filter(({ from }) => parts.some(({ name }) => name === nameInStack(from)));

/** Refuses a restore that cannot work, before anything is touched. */
export const checkRestoring = (work: Work<unknown>, platform: Platform, environment: string, restoring: Restoring): Promise<void> =>
  work.step('check backup', async () => {
    const { db, secrets } = platform;
    const current = await currentStack(db, secrets, work.activity.project_id, environment);
    const model = restoring.restoresCode ? restoring.stack.model : current?.model;
    if (model) refuseUnfit(restoring, model, current);
    await refuseWithoutRoom(await platform.machine(), restoring);
  });

/** Throws a Problem that names a type that is not available any more, or a service that could not read its data. */
export function refuseUnfit({ stack, restoresCode, title }: RestorePlan, model: ProjectModel, current: Stack | undefined): void {
  const containers = [
    ...Object.values(model.services).map(({ name, type }) => ({ what: `service '${name}'`, type })),
    ...Object.values(model.applications).map(({ name, type }) => ({ what: `application '${name}'`, type })),
    ...Object.values(model.tasks).map(({ name, type }) => ({ what: `task '${name}'`, type })),
  ];
  const gone = restoresCode ? containers.find(({ type }) => !isAvailable(type)) : undefined;
  if (gone)
    throw new Problem(
      'conflict',
      `The ${title} cannot be restored: ${gone.type}, which ${gone.what} had, is not available any more. Restore its data alone, with restore_code: false, into an environment whose services can read it.`,
    );
  for (const { name, type } of Object.values(model.services)) {
    const other = [stack, ...(current ? [current] : [])].map((each) => serviceType(each, name)).find((each) => isOtherMajor(each, type));
    if (other !== undefined) throw otherMajor(title, name, serviceType(stack, name) ?? type, restoresCode ? other : type);
  }
}

function isAvailable(type: string): boolean {
  try {
    return entryOf(catalogue, type) !== undefined;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

const serviceType = ({ model }: Stack, name: string): string | undefined =>
  Object.hasOwn(model.services, name) ? model.services[name]?.type : undefined;

/** Whether two types are the same engine in versions that cannot read each other's data. */
const isOtherMajor = (other: string | undefined, type: string) =>
  other !== undefined &&
  nameOfType(other) === nameOfType(type) &&
  dataFormatOf(other) !== dataFormatOf(type) &&
  serviceOfType(type)?.keepsData === true;

const otherMajor = (title: string, name: string, was: string, is: string) =>
  new Problem(
    'conflict',
    `The ${title} cannot be restored here: its service '${name}' is ${was}, and the environment has ${is}. One cannot read the data of the other; restore the backup into a new environment.`,
  );

const megabyte = 2 ** 20;
/** Room for what services write when they start, and for the pool itself. */
const spareBytes = 64 * megabyte;
/** Where the file system cannot share data, three copies exist at once: the one that arrives, the one that is replaced, and the one in use. */
const copiesWithoutSharing = 3;
const inMegabytes = (bytes: number) => `${Math.ceil(bytes / megabyte)} MB`;

/** Whether a part is a volume, as opposed to a slug. */
const isData = (part: string) => /^(?:data|storage)-/.test(part);

/** What is known of a backup's size before any of it is fetched. */
export type RestoredData = Pick<Restoring, 'title' | 'parts' | 'bytesWithoutHoles'>;

async function refuseWithoutRoom({ volumes }: Pick<Machine, 'volumes'>, data: RestoredData) {
  const { freeBytes } = await volumes.capacity();
  refuseTooLarge(data, freeBytes, volumes.kind === 'copy' ? copiesWithoutSharing : 1);
}

/** Throws a Problem where the pool has too little room for the data. */
export function refuseTooLarge({ title, parts, bytesWithoutHoles }: RestoredData, freeBytes: number, copies: number): void {
  const bytes = parts.filter(({ name }) => isData(name)).reduce((sum, part) => sum + part.bytes, 0);
  const neededBytes = Math.max(bytes, bytesWithoutHoles) * copies + spareBytes;
  if (neededBytes <= freeBytes) return;
  throw new Problem(
    'conflict',
    `There is no room for the ${title}: it needs ${inMegabytes(neededBytes)} on the disk for volumes, where ${inMegabytes(freeBytes)} are free. Delete environments that nobody needs, or give the machine a larger disk.`,
  );
}

/** With less than this free, the pool counts as full. */
const roomBytesMin = 32 * megabyte;

export async function fetchFor(
  machine: Pick<Machine, 'volumes'>,
  restoring: Restoring,
  clonings: readonly Cloning[],
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { title, parts } = restoring;
  log(`Fetching the data of ${title}`);
  const taken = new Set(clonings.map(({ from }) => nameInStack(from)));
  const left = parts.filter(({ name }) => isData(name) && !taken.has(name));
  for (const { name } of left) log(`  W: Nothing in this environment uses ${name}; it is left out.`);
  try {
    await fetchVolumes(machine, restoring, clonings, signal);
  } catch (error) {
    const { freeBytes } = await machine.volumes.capacity();
    if (signal.aborted || freeBytes >= roomBytesMin) throw error;
    const words = `The disk for volumes became full while the ${title} was fetched; the environment is as it was. Make room, and restore again.`;
    throw new Problem('unavailable', words, { cause: error });
  }
}

/** What ran when the backup was made, ready to run again. Slugs that are no longer on the machine are fetched from the backup. */
export async function findBackedUp(
  { step, log, activity }: Work<unknown>,
  platform: Platform,
  { stack, parts, fetch, title }: Restoring,
  onFailure: () => Promise<void>,
): Promise<Built> {
  const { db } = platform;
  const { volumes } = await platform.machine();
  const projectId = activity.project_id;
  const slugs: Record<string, Slug> = Object.fromEntries(
    Object.entries(stack.slugs).map(([app, slug]) => [app, slugIn(projectId, stack.project.id, slug)]),
  );
  await step(
    'find builds',
    async (signal) => {
      for (const [app, slug] of Object.entries(slugs)) {
        if (await useSlug(db, volumes, slug)) continue;
        const part = slugPart(app);
        if (!parts.some(({ name }) => name === part))
          throw new Problem(
            'conflict',
            `The build of '${app}' is not kept any more, and is not in the ${title}. Restore the data alone, with restore_code: false.`,
          );
        log(`Fetching the build of ${app}`);
        const fill = (folder: string) => fetch([{ name: part, folder }], signal);
        await adoptSlug({ db, volumes }, { projectId, app, slug }, fill, signal);
      }
    },
    onFailure,
  );
  return { model: stack.model, slugs, base: stack };
}

/** Containers that are not in the backup keep their sizes. In another environment, containers that are in the backup count as new. */
export function sizesBefore(now: Sizes | undefined, { stack, isElsewhere, restoresSizes }: RestorePlan): Sizes | undefined {
  if (!now || !restoresSizes) return now;
  const group = (key: keyof Sizes) =>
    Object.fromEntries(
      Object.entries(now[key]).flatMap(([name, size]) => {
        const then = Object.hasOwn(stack.sizes[key], name) ? stack.sizes[key][name] : undefined;
        return then && isElsewhere ? [] : [[name, then ?? size]];
      }),
    );
  return { services: group('services'), webapps: group('webapps'), workers: group('workers'), tasks: group('tasks') };
}
