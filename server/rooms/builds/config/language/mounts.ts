/** Folders of an app that can be written to. */
import { nameOfType } from '../../../../catalogue/catalogue.ts';
import { quoted } from '../message.ts';
import type { Mount, MountSource } from '../model.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import { childOf, type Node } from '../node.ts';
import { choice, mapOf, maybe, object, orNull, type ReportAt, required, scalar, type Shape, shorthand, text, refined } from '../shape.ts';
import type { Context } from './context.ts';
import { innerPath, pathInside } from './values.ts';

type Written = Omit<Mount, 'source_path'> & { source_path: string | undefined };

/** `local` of the legacy files is kept and cloned like `storage`, so it is read as `storage`. */
const sources: Readonly<Record<string, MountSource>> = {
  storage: 'storage',
  local: 'storage',
  instance: 'instance',
  tmp: 'tmp',
  temporary: 'tmp',
  service: 'service',
};

/** The short form of a mount: `shared:files/uploads`. */
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
  refined(
    mapOf(shorthand(short, long), 'a map of mounts by path', { dots: 'write it with a slash in front' }),
    (written, reportAt, node) => {
      const found = new Map<string, Mount>();
      for (const [key, { source_path, ...mount }] of Object.entries(written)) {
        const at = childOf(node, key);
        const here = { ...reportAt, path: `${reportAt.path}.${key}` };
        const path = key.includes('\0') ? undefined : pathInside(key);
        const complain = (message: string) => reportAt.report.error(at.at, here.path, message);
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
    },
  );

const isOneInTheOther = (a: string, b: string) => a.startsWith(`${b}/`) || b.startsWith(`${a}/`);

/** Whether the volume that a mount shares exists, if it shares one. */
function mayBeMounted(
  context: Context,
  { source, service }: Omit<Written, 'source_path'>,
  node: Node,
  { path, report }: ReportAt,
): boolean {
  if (source === 'service') {
    const wrong = wrongStorage(context, service);
    if (wrong !== undefined) report.error(node.at, path, wrong);
    return wrong === undefined;
  }
  if (service === null || (source === 'storage' && context.volumes.has(service))) return true;
  if (source === 'storage') {
    report.error(
      node.at,
      path,
      `Found the service ${quoted(service)}, expected an application: ${nearestFirst(service, [...context.volumes]).join(', ')}.`,
    );
    return false;
  }
  report.warn(node.at, path, `"service" is ignored: only mounts of the source storage are shared.`);
  return true;
}

/** What is wrong with the service of a mount. Mistakes of the service itself are reported where the service is. */
function wrongStorage({ images, targets }: Context, service: string | null): string | undefined {
  const target = service === null ? undefined : targets.get(service);
  if (target?.kind === 'service' && (target.isStorage || !target.endpoints)) return undefined;
  const found = service === null ? 'a mount of a service without its name' : `the service ${quoted(service)}`;
  const offered = [...targets].flatMap(([name, { isStorage }]) => (isStorage ? name : []));
  const there = offered.length === 0 ? 'there is none' : nearestFirst(service ?? '', offered).join(', ');
  const types = new Set(images.filter(({ isStorage }) => isStorage).map(({ type }) => nameOfType(type)));
  return `Found ${found}, expected service to name one of the type ${[...types].join(' or ')}: ${there}.`;
}
