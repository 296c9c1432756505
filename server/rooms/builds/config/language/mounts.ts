/** Folders of an app that can be written to. */
import { quoted } from '../message.ts';
import type { Mount, MountSource } from '../model.ts';
import { nearestFirst } from '../nearest.ts';
import { childOf, type Node } from '../node.ts';
import { choice, mapOf, maybe, object, orNull, type Place, required, scalar, type Shape, shorthand, text, refined } from '../shape.ts';
import type { Context } from './context.ts';
import { innerPath, pathInside } from './values.ts';

type Written = Omit<Mount, 'source_path'> & { source_path: string | undefined };

/** `local` of the legacy files is kept and cloned like `storage`, so that is what it is. */
const sources: Readonly<Record<string, MountSource>> = {
  storage: 'storage',
  local: 'storage',
  instance: 'instance',
  tmp: 'tmp',
  temporary: 'tmp',
  service: 'service',
};

/** `shared:files/uploads` */
const short: Shape<Written> = scalar('a map with source', ({ value }) => {
  const path = typeof value === 'string' ? /^shared:files(?:\/(.*))?$/s.exec(value)?.[1] : undefined;
  const inner = pathInside(path ?? '');
  return typeof value === 'string' && value.startsWith('shared:files') && inner !== undefined
    ? { source: 'storage', source_path: inner, service: null }
    : undefined;
});

const long = refined(
  object({ source: required(choice(...Object.keys(sources))), source_path: maybe(innerPath), service: orNull(text('a name')) }),
  ({ source, ...others }): Written => ({ source: sources[source] ?? 'storage', ...others }),
);

export const mounts = (context: Context): Shape<Record<string, Mount>> =>
  refined(mapOf(shorthand(short, long), 'a map of mounts by path', { dots: 'write it with a slash in front' }), (written, place, node) => {
    const found = new Map<string, Mount>();
    for (const [key, { source_path, ...mount }] of Object.entries(written)) {
      const at = childOf(node, key);
      const here = { ...place, path: `${place.path}.${key}` };
      const path = key.includes('\0') ? undefined : pathInside(key);
      const complain = (message: string) => place.report.error(at.at, here.path, message);
      if (!path) complain(`Found the path ${quoted(key)}, expected a folder inside the application.`);
      else if (found.has(`/${path}`)) complain(`Found a second mount at ${quoted(`/${path}`)}, expected one.`);
      else if (mayBeMounted(context, mount, at, here)) {
        const around = [...found].find(([other, { source }]) => source !== mount.source && isOneInTheOther(other, `/${path}`));
        if (around)
          complain(
            `Found a mount of the source ${mount.source} that is nested with ${quoted(around[0])} of the source ${around[1].source}, expected one source for both.`,
          );
        found.set(`/${path}`, { source: mount.source, source_path: source_path ?? path, service: mount.service });
      }
    }
    return Object.fromEntries(found);
  });

const isOneInTheOther = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`);

/** Whether what it shares exists, if it shares anything. */
function mayBeMounted(
  { volumes }: Context,
  { source, service }: Omit<Written, 'source_path'>,
  node: Node,
  { path, report }: Place,
): boolean {
  if (source === 'service') {
    report.error(
      node.at,
      path,
      'Found a mount of a service, but services with files to mount are not offered here; expected source: storage.',
    );
    return false;
  }
  if (service === null || (source === 'storage' && volumes.has(service))) return true;
  if (source === 'storage') {
    report.error(
      node.at,
      path,
      `Found the service ${quoted(service)}, expected an application: ${nearestFirst(service, [...volumes]).join(', ')}.`,
    );
    return false;
  }
  report.warn(node.at, path, `"service" is ignored: only mounts of the source storage are shared.`);
  return true;
}
