/**
 * The configuration of a commit: files in, one model out, or everything that is wrong with it. It never throws about what it reads, and takes a
 * bounded time for it, though with the largest files a few seconds of one processor.
 */
import { type Found, readSections, type SectionName, type Sections } from './families.ts';
import type { Image } from './images.ts';
import { application } from './language/application.ts';
import type { Context, Target } from './language/context.ts';
import { defaultRoute, route, routeUrl } from './language/routes.ts';
import { defaultEndpointOf, service } from './language/services.ts';
import { task } from './language/tasks.ts';
import { wrongName } from './language/values.ts';
import { type ConfigMessage, openReport, quoted, type Report } from './message.ts';
import type { ProjectModel, Route, Service } from './model.ts';
import { childOf } from './node.ts';
import type { Shape } from './shape.ts';
import { follow, type SourceTree } from './source-tree.ts';
import { refuseUnreachable, warnOfUnreachable } from './unreachable-apps.ts';

export interface ConfigurationOptions {
  /** The images that a configuration can choose from: `imagesOf(catalogue)`. */
  images: readonly Image[];
  /** `locations_script_default` of the project's settings. */
  scriptsByDefault: boolean;
  /** `cron_minimum_interval` of the project's settings. */
  cronMinutesMin: number;
}

export type Configuration =
  | { model: ProjectModel; errors?: undefined; warnings: ConfigMessage[] }
  | { model?: undefined; errors: ConfigMessage[]; warnings: ConfigMessage[] };

/** How many apps, services and tasks, each, a project may have. */
const entriesMax = 100;
const routesMax = 500;

export async function readConfiguration(tree: SourceTree, options: ConfigurationOptions): Promise<Configuration> {
  const report = openReport();
  const sections = await readSections(tree, report);
  const model = sections && (await modelOf(sections, tree, options, report));
  const warnings = report.warnings.toSorted(bySpot);
  return model && report.errors.length === 0 ? { model, warnings } : { errors: report.errors.toSorted(bySpot), warnings };
}

const bySpot = (a: ConfigMessage, b: ConfigMessage) =>
  a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1;

async function modelOf(sections: Sections, tree: SourceTree, options: ConfigurationOptions, report: Report): Promise<ProjectModel> {
  const { applications, services } = sections;
  const targets = new Map<string, Target>();
  for (const name of applications.keys()) targets.set(name, { kind: 'application', endpoints: ['http'], defaultEndpoint: 'http' });
  for (const [name, { at }] of services) {
    if (targets.has(name))
      report.error(at, `services.${name}`, `Found a service with the name of an application, ${quoted(name)}, expected another name.`);
    targets.set(name, { kind: 'service', endpoints: undefined, defaultEndpoint: undefined });
  }
  for (const [name, { at }] of sections.tasks) {
    const taken = targets.get(name);
    if (taken)
      report.error(at, `tasks.${name}`, `Found a task with the name of ${nameOfKind[taken.kind]}, ${quoted(name)}, expected another name.`);
  }
  const context: Context = { ...options, isLegacy: sections.isLegacy, targets, volumes: volumesOf(applications) };
  const read = <T>(section: Exclude<SectionName, 'routes'>, shapeOf: (name: string, found: Found) => Shape<T>) =>
    readSection(sections[section], section, shapeOf, report);

  const ownServices = read('services', (name) => service(context, name));
  for (const [name, found] of Object.entries(ownServices)) targets.set(name, targetOf(context, found));
  const model: ProjectModel = {
    applications: read('applications', (name, { root }) => application(context, name, root)),
    services: ownServices,
    routes: routesOf(sections, context, report),
    tasks: read('tasks', (name) => task(context, name)),
  };
  // Where there are errors, a part that could not be read may have had applications.
  if (applications.size === 0 && report.errors.length === 0)
    report.error(sections.at, 'applications', 'Found no applications, expected at least one.');
  refuseCircles(model, sections, report);
  warnOfUnreachable(model, sections, report);
  refuseUnreachable(model, sections, options.images, report);
  await refuseMissingFolders(model, sections, tree, report);
  return model;
}

const nameOfKind = { application: 'an application', service: 'a service' };

const targetOf = (context: Context, found: Service): Target => ({
  kind: 'service',
  endpoints: Object.keys(found.endpoints),
  defaultEndpoint: defaultEndpointOf(context, found),
  answersRoutes: context.images.some(({ type, service: offered }) => type === found.type && offered?.answersRoutes),
  isStorage: context.images.some(({ type, isStorage }) => type === found.type && isStorage),
});

const volumesOf = (applications: ReadonlyMap<string, Found>) =>
  new Set(
    [...applications].flatMap(([name, { node }]) => {
      const workers = childOf(node, 'workers');
      return [
        name,
        ...(workers.kind === 'map' && workers !== node ? [...workers.entries.keys()].map((worker) => `${name}--${worker}`) : []),
      ];
    }),
  );

function readSection<T>(
  found: ReadonlyMap<string, Found>,
  section: string,
  shapeOf: (name: string, found: Found) => Shape<T>,
  report: Report,
): Record<string, T> {
  const values: [string, T][] = [];
  for (const [index, [name, entry]] of [...found].entries()) {
    const path = `${section}.${name}`;
    const wrong = index >= entriesMax ? `${entriesMax} ${section} at most` : wrongName(name);
    if (wrong !== undefined) report.error(entry.at, path, `Found the name ${quoted(name)}, expected ${wrong}.`);
    if (index > entriesMax) break;
    const value = shapeOf(name, entry).read(entry.node, { path, report });
    if (value !== undefined) values.push([name, value]);
  }
  return Object.fromEntries(values);
}

function routesOf({ routes, applications, at }: Sections, context: Context, report: Report): Record<string, Route> {
  const found = new Map<string, Route>();
  if (routes.size > routesMax) report.error(at, 'routes', `Found ${routes.size} routes, expected ${routesMax} at most.`);
  for (const [key, entry] of [...routes].slice(0, routesMax)) {
    const path = `routes.${key}`;
    const url = routeUrl(key);
    if (url === undefined) {
      report.error(
        entry.at,
        path,
        `Found the URL ${quoted(key)}, expected one such as https://{default}/ or https://www.example.com/path/, without another port.`,
      );
    } else if (found.has(url)) report.error(entry.at, path, `Found a second route for ${quoted(url)}, expected one.`);
    const one = route(context).read(entry.node, { path, report });
    if (one?.primary && [...found.values()].some(({ primary }) => primary)) {
      report.error(childOf(entry.node, 'primary').at, `${path}.primary`, 'Found a second primary route, expected one.');
    }
    if (one && url !== undefined) found.set(url, one);
  }
  if (routes.size > 0) return Object.fromEntries(found);
  const [app, another] = applications.keys();
  if (another !== undefined)
    report.warn(at, 'routes', 'Found no routes, so none of the applications can be reached; expected a route for at least one.');
  return app === undefined || another !== undefined ? {} : { 'https://{default}/': defaultRoute(app) };
}

/** Refuses circles of relationships between apps, because each app is opened after those that it talks to. */
function refuseCircles({ applications }: ProjectModel, sections: Sections, report: Report) {
  const neighbours = (name: string) =>
    Object.values(applications[name]?.relationships ?? {}).flatMap(({ service: to }) => (Object.hasOwn(applications, to) ? [to] : []));
  const finished = new Set<string>();
  const visit = (name: string, via: readonly string[]) => {
    const found = sections.applications.get(name);
    if (via.includes(name) && found) {
      const circle = [...via.slice(via.indexOf(name)), name].join(' → ');
      report.error(
        childOf(found.node, 'relationships').at,
        `applications.${name}.relationships`,
        `Found a circle of applications, ${circle}, expected none.`,
      );
    } else if (!finished.has(name)) {
      for (const next of neighbours(name)) visit(next, [...via, name]);
      finished.add(name);
    }
  };
  for (const name of Object.keys(applications)) visit(name, []);
}

async function refuseMissingFolders(model: ProjectModel, sections: Sections, tree: SourceTree, report: Report) {
  for (const section of ['applications', 'tasks'] as const) {
    for (const [name, { source }] of Object.entries(model[section])) {
      const found = sections[section].get(name);
      const folder = follow('', source.root) ?? '';
      if (!found || folder === '' || (await tree.list(folder)).length > 0) continue;
      report.error(
        childOf(childOf(found.node, 'source'), 'root').at,
        `${section}.${name}.source.root`,
        `Found ${quoted(source.root)}, expected a folder of the repository.`,
      );
    }
  }
}
