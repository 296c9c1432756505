/** Builds of apps that are an image of a registry: which one its tag means now is found out, and that one runs from then on, whatever becomes of the tag. */
import type { Images, OciConfig, OciImage, RegistryAccess } from '../../drivers/images/images.ts';
import { requireReference } from '../../drivers/images/oci/reference.ts';
import { pinnedReference } from '../../drivers/images/oci/bring-image.ts';
import { CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import { registryCredentials, type EffectiveVariable } from '../variables/public.ts';
import { titleOf, type Buildable } from './buildable.ts';
import type { BuildOutput } from './build-output.ts';
import type { SlugImage } from './slugs.ts';

export interface Fetching {
  images: Images;
  app: Buildable;
  /** All variables of the environment, of which some are credentials. */
  variables: readonly EffectiveVariable[];
}

const progressPercent = 20;

/** Throws a Problem that names the app. */
export async function fetchImage(
  { images, app, variables }: Fetching,
  reference: string,
  publicKey: string | null,
  output: BuildOutput,
  signal: AbortSignal,
): Promise<OciImage> {
  let told = 0;
  const onProgress = ({ percent, line }: { percent: number; line: string }) => {
    if (percent < told + progressPercent) return;
    told = percent;
    output.line(`${Math.floor(percent)} %: ${line}`);
  };
  try {
    const image = await images.bring(reference, accessTo(variables, reference, publicKey), onProgress, signal);
    output.line(`${image.reference} is ${image.digest}`);
    return image;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.kind, `Unable to build ${titleOf(app)}: ${error.message}`, { cause: error });
  }
}

export function accessTo(variables: readonly EffectiveVariable[], reference: string, publicKey: string | null): RegistryAccess {
  const credentials = registryCredentials(variables, requireReference(reference).host);
  return { ...(credentials && { credentials }), ...(publicKey !== null && { publicKey }) };
}

/** An image that an earlier build pinned: its layers may have been removed meanwhile, and are the same when they come back. */
export async function fetchAgain(fetching: Fetching, { type }: SlugImage, output: BuildOutput, signal: AbortSignal): Promise<void> {
  if (type === null || (await fetching.images.built(type))) return;
  output.step('Fetching its image again, which is not on this machine any more.');
  await fetchImage(fetching, pinnedReference(type), null, output, signal);
}

export async function buildFromImage(
  fetching: Fetching,
  { name, signed_by }: { name: string; signed_by: string | null },
  output: BuildOutput,
  signal: AbortSignal,
): Promise<SlugImage> {
  output.step(`Fetching the image ${name}.`);
  const image = await fetchImage(fetching, name, signed_by, output, signal);
  return slugImage(fetching.app, image, image.config, 0);
}

/** `image` is what lies below `layers` layers of the slug's own. */
export function slugImage(
  app: Buildable,
  image: Pick<OciImage, 'type' | 'reference' | 'digest'> | undefined,
  config: OciConfig,
  layers: number,
): SlugImage {
  const { entrypoint, cmd, env, workingFolder, ports } = config;
  if (entrypoint.length + cmd.length === 0 && 'web' in app && app.web.commands.start === null)
    throw new CommandFailed(`Unable to build ${titleOf(app)}: its image does not say what to start; say it with web.commands.start.`);
  const { type, reference, digest } = image ?? { type: null, reference: 'scratch', digest: '' };
  return { type, reference, digest, layers, entrypoint, cmd, env, workingFolder, ports };
}
