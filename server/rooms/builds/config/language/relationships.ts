/** Three forms of a relationship, made one; what it names exists. */
import { quoted } from '../message.ts';
import type { Relationship } from '../model.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import { childOf, type Node } from '../node.ts';
import { mapOf, object, orNull, type ReportAt, scalar, type Shape, shorthand, text, refined } from '../shape.ts';
import type { Context, Target } from './context.ts';
import { wrongName } from './values.ts';

interface Written {
  service: string | null;
  endpoint: string | null;
}

const short: Shape<Written> = {
  ...scalar('service:endpoint', ({ value }): Written | undefined => {
    if (value === null) return { service: null, endpoint: null };
    const [service = '', endpoint, more] = typeof value === 'string' ? value.split(':') : [];
    return service !== '' && endpoint !== '' && more === undefined ? { service, endpoint: endpoint ?? null } : undefined;
  }),
  takesNothing: true,
};
const long = object({
  service: orNull(text('the name of a service or an application')),
  endpoint: orNull(text('the name of an endpoint')),
});

export const relationships = (context: Context): Shape<Record<string, Relationship>> =>
  refined(mapOf(shorthand(short, long), 'a map of relationships by name', { wrongKey: wrongName }), (written, reportAt, node) => {
    const resolved = Object.entries(written).map(([name, { service, endpoint }]) => {
      const here = { ...reportAt, path: `${reportAt.path}.${name}` };
      return [name, endpointOf(context.targets, service ?? name, endpoint, childOf(node, name), here)] as const;
    });
    return Object.fromEntries(resolved.flatMap(([name, found]) => (found ? [[name, found]] : [])));
  });

/** The endpoint that a relationship or a route names. */
export function endpointOf(
  targets: ReadonlyMap<string, Target>,
  service: string,
  wanted: string | null,
  node: Node,
  { path, report }: ReportAt,
): Relationship | undefined {
  const target = targets.get(service);
  if (!target) {
    report.error(node.at, path, `Found ${quoted(service)}, expected a service or an application: ${namesOf(service, targets)}.`);
    return undefined;
  }
  const { kind, endpoints, defaultEndpoint } = target;
  const endpoint = wanted ?? defaultEndpoint;
  if (!endpoints) return { service, endpoint: endpoint ?? '' };
  if (endpoint === undefined) {
    const problem = `${quoted(service)} targets a service without a valid default endpoint configuration`;
    report.error(node.at, path, `${problem}; expected one of ${endpoints.join(', ') || 'its endpoints, of which it has none'}.`);
    return undefined;
  }
  if (!endpoints.includes(endpoint)) {
    report.error(
      node.at,
      path,
      `Found the endpoint ${quoted(endpoint)} of the ${kind} ${quoted(service)}, expected ${endpoints.join(', ') || 'none, as it has none'}.`,
    );
    return undefined;
  }
  return { service, endpoint };
}

const namesOf = (wanted: string, targets: ReadonlyMap<string, Target>) =>
  targets.size === 0 ? 'there are none' : nearestFirst(wanted, [...targets.keys()]).join(', ');
