/** What the log of an activity says of a deployment, in the layout that people know from pushes. */
import { isStorage } from '../../../catalogue/catalogue.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { runnablesOf } from '../stack/containers.ts';
import { isRollingWanted, repeatedOf, restoringOf } from './deploy-request.ts';
import type { OngoingDeployment } from './ongoing-deployment.ts';
import type { DomainAddresses } from '../stack/outbound.ts';
import { limitsOf, profileOf, taskLimits } from '../sizes/sizes.ts';
import type { Size, Sizes, Stack } from '../stack/stack.ts';

const megabyte = 2 ** 20;

interface Sized {
  name: string;
  type: string;
  size: Size;
  cpu: number;
  memory: number;
}

function sizedOf(model: ProjectModel, sizes: Sizes): Sized[] {
  const groups = [
    ...Object.values(model.services).map((service) => ({ ...service, size: sizes.services[service.name] })),
    ...Object.values(model.applications).map((app) => ({ ...app, size: sizes.webapps[app.name] })),
    ...runnablesOf({ model }).flatMap((runnable) => ('app' in runnable ? { ...runnable, size: sizes.workers[runnable.name] } : [])),
  ];
  return [
    ...groups.flatMap(({ size, ...one }) => (size ? sizedAs(one, size, limitsOf(profileOf(one.type, one.container_profile), size)) : [])),
    ...Object.values(model.tasks).flatMap((task) => {
      const size = sizes.tasks[task.name];
      return size ? sizedAs(task, size, taskLimits(task, size)) : [];
    }),
  ];
}

const sizedAs = (
  { name, type }: Pick<Sized, 'name' | 'type'>,
  size: Size,
  { cpu, memoryBytes }: { cpu: number; memoryBytes: number },
): Sized => ({ name, type, size, cpu, memory: memoryBytes / megabyte });

/** Lines about containers that are new, or whose sizes have changed. */
export function resourceLines(model: ProjectModel, sizes: Sizes, before: Sizes | undefined): string[] {
  const known = new Map(Object.values(before ?? {}).flatMap((group) => Object.entries(group)));
  const lines = sizedOf(model, sizes).flatMap(({ name, type, size, cpu, memory }) => {
    const was = known.get(name);
    return [
      ...(was?.profile_size === size.profile_size || isStorage(type)
        ? []
        : [`  Setting '${name}' resources to ${cpu} CPU, ${memory}MB RAM.`]),
      ...((was?.instance_count ?? 1) === size.instance_count ? [] : [`  Setting '${name}' instances to ${size.instance_count}.`]),
      ...((was?.disk ?? null) === size.disk ? [] : [`  Setting '${name}' disk to ${size.disk ?? 0}MB.`]),
    ];
  });
  return lines.length === 0 ? [] : ['Configuring resources', ...lines];
}

export function openingLines({ wanted: { stack }, current, source, request, isRolling }: OngoingDeployment): string[] {
  const restoring = restoringOf(request);
  const { id } = stack.environment;
  const held = isRollingWanted(request) && !isRolling && current !== undefined;
  const clone = source ? `, as a clone of ${source.stack.environment.id}` : restoring ? `, from ${restoring.title}` : '';
  return [`${current ? 'Redeploying' : 'Creating'} environment ${id}${clone}`, '  Preparing deployment', ...(held ? [heldLine] : [])];
}

/** Warnings about volumes of an earlier deployment whose data has been removed since it ran. */
export const emptyLines = ({ plan, request }: OngoingDeployment, kept: ReadonlySet<string>): string[] =>
  repeatedOf(request) !== undefined
    ? plan.volumes.make
        .filter(({ name, isData }) => isData && !kept.has(name))
        .map(({ name }) => `  W: The data of ${name.replace(/^stack-[^-]+-/, '')} was removed in the meantime; it starts empty.`)
    : [];

const heldLine = '  W: This deployment cannot be rolling, because a service or its data is replaced; requests wait until it is done.';

/** Lines about domains in firewall rules that could not be looked up. */
export const unknownDomainLines = (addresses: DomainAddresses): string[] =>
  [...addresses].flatMap(([domain, found]) =>
    found.length > 0
      ? []
      : `  W: No address was found for ${domain}, which the firewall lets out to; it is looked up again every few minutes.`,
  );

export function closingLines({ wanted: { stack } }: OngoingDeployment): string[] {
  const containers = sizedOf(stack.model, stack.sizes).map(
    ({ name, type, cpu, memory, size: { disk } }) =>
      `    ${name} (type: ${type}${isStorage(type) ? '' : `, cpu: ${cpu}, memory: ${memory}`}${disk === null ? '' : `, disk: ${disk}`})`,
  );
  const routes = Object.entries(stack.routes).map(([url, route]) =>
    route.type === 'upstream'
      ? `    ${url} is served by ${servedBy(stack, route.upstream.split(':', 1)[0] ?? '')}`
      : `    ${url} ${route.type === 'redirect' ? 'redirects' : 'is passed on'} to ${route.to}`,
  );
  return ['  Environment configuration', ...containers, '  Environment routes', ...routes];
}

const servedBy = ({ model }: Stack, name: string) => `${Object.hasOwn(model.services, name) ? 'service' : 'application'} \`${name}\``;
