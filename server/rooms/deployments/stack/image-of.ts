/** What an app, a worker or a task starts from: an image of the catalogue with its slug mounted in it, or an image of its own, which is all that it has. */
import { runtimeOfType, typeBelow } from '../../../catalogue/catalogue.ts';
import { toolVariables, type App, type Slug, type Task } from '../../builds/public.ts';
import { appRoot, type Recipient } from './runtime-variables.ts';

/** What it starts from, with the variables and the folder that come with that. An image of its own is told what it says itself, unless somebody says otherwise. */
export function imageOf(
  { type }: Recipient,
  { image, volume }: Slug,
  built: App | Task,
  path: string | undefined,
  told: Record<string, string>,
) {
  if (!image) {
    const env = { LANG: 'C.UTF-8', HOME: appRoot, ...runtimeOfType(type)?.env, ...toolVariables(built, path), ...told };
    return { image: type, env, workingFolder: appRoot };
  }
  const PATH = [path ?? image.env['PATH'], usualPath].filter(Boolean).join(':');
  return {
    image: typeBelow(type),
    own: { image: image.type, volume, layers: image.layers },
    env: { HOME: '/tmp', ...image.env, PATH, ...told },
    workingFolder: image.workingFolder,
  };
}

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
