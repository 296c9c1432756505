/** The keys of a service; what its configuration says becomes databases, endpoints and extensions, whatever the type calls them. */
import { nameOfType } from '../../../../catalogue/catalogue.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import { quoted } from '../message.ts';
import { containerProfiles, type Json, type Service, sizes } from '../model.ts';
import { childOf, type Node } from '../node.ts';
import {
  choice,
  integer,
  jsonOf,
  mapOf,
  maybe,
  object,
  optional,
  orNull,
  type ReportAt,
  required,
  type Shape,
  text,
  refined,
} from '../shape.ts';
import { type Context, imageType } from './context.ts';
import { hint } from './instance.ts';
import { accessOf } from './service-access.ts';
import { wrongName } from './values.ts';

/** The configuration of a service, not yet read, with its place: the type of the service decides how to read it. */
const anyConfiguration: Shape<{ node: Node; reportAt: ReportAt }> = { expected: 'a map', read: (node, reportAt) => ({ node, reportAt }) };

const keysOf = (context: Context) =>
  object(
    {
      type: required(imageType(context, 'service')),
      configuration: maybe(anyConfiguration),
      relationships: optional(mapOf(text('service:endpoint'), 'a map of relationships by name', { wrongKey: wrongName }), {}),
      container_profile: orNull(choice(...containerProfiles)),
      size: optional(hint(context, choice(...sizes)), 'AUTO'),
      disk: orNull(hint(context, integer(128, 16 * 2 ** 20, 'MB'))),
    },
    { ignored: { resources: 'sizes are set for each environment' } },
  );

export const service = (context: Context, name: string): Shape<Service> =>
  refined(keysOf(context), ({ configuration, relationships, ...found }, { path, report }, node) => {
    const image = context.images.find(({ type }) => type === found.type);
    for (const [relationship, target] of Object.entries(relationships)) {
      const { at } = childOf(childOf(node, 'relationships'), relationship);
      const here = { path: `${path}.relationships.${relationship}`, report };
      if (image?.service?.reachesApps) refuseAllButApps(context, target, at, here);
      else if (context.targets.has(target.split(':', 1)[0] ?? ''))
        report.warn(at, here.path, `This is ignored: ${nameOfType(found.type)} has no use for relationships.`);
      else report.error(at, here.path, `Found ${quoted(target)}, expected one of ${[...context.targets.keys()].join(', ')}.`);
    }
    const reportAt = configuration?.reportAt ?? { path: `${path}.configuration`, report };
    const access = image && accessOf(image, context.images, configuration?.node, reportAt);
    return access && { name, ...found, relationships, configuration: configurationOf(configuration?.node), ...access };
  });

/** `<application>` or `<application>:http`. */
function refuseAllButApps({ targets }: Context, target: string, at: Node['at'], { path, report }: ReportAt) {
  const [name = '', endpoint = 'http', more] = target.split(':');
  if (targets.get(name)?.kind === 'application' && endpoint === 'http' && more === undefined) return;
  const apps = [...targets].flatMap(([app, { kind }]) => (kind === 'application' ? `${app}:http` : []));
  report.error(at, path, `Found ${quoted(target)}, expected an application: ${nearestFirst(target, apps).join(', ') || 'there are none'}.`);
}

function configurationOf(node: Node | undefined): Record<string, Json> {
  const value = node ? jsonOf(node) : {};
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** What a relationship that names no endpoint gets: the type's own, or the only one there is. */
export function defaultEndpointOf(context: Context, { type, endpoints }: Pick<Service, 'type' | 'endpoints'>): string | undefined {
  const own = context.images.find((image) => image.type === type)?.service?.relationship.rel;
  const names = Object.keys(endpoints);
  return own !== undefined && names.includes(own) ? own : names.length === 1 ? names[0] : undefined;
}
