/** What the tables of the language need to know about the rest of the configuration, and of the platform. */
import { nameOfType, nearestVersion, versionOfType } from '../../../../catalogue/catalogue.ts';
import type { Runtime } from '../../../../catalogue/runtime.ts';
import { type Image, isForServices } from '../images.ts';
import { quoted } from '../message.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import { label, type Shape, refined } from '../shape.ts';

export interface Context {
  images: readonly Image[];
  /** Whether locations run scripts unless they say otherwise: `locations_script_default` of the project. */
  scriptsByDefault: boolean;
  /** The least time between two runs of a cron, whatever its schedule says: `cron_minimum_interval` of the project. */
  cronMinutesMin: number;
  isLegacy: boolean;
  /** The services and apps that relationships and routes may name. */
  targets: ReadonlyMap<string, Target>;
  /** The apps and workers (`<app>--<worker>`) whose volumes mounts may share. */
  volumes: ReadonlySet<string>;
}

export interface Target {
  kind: 'application' | 'service';
  /** Undefined: the target itself has mistakes, so no mistakes are reported for those who name it. */
  endpoints: readonly string[] | undefined;
  /** The endpoint for relationships that name none; undefined: they have to name one. */
  defaultEndpoint: string | undefined;
  /** Whether routes may lead to the target. */
  answersRoutes?: boolean;
  /** Whether the target has files that can be mounted. */
  isStorage?: boolean;
}

/** Undefined: the type is not one of apps. */
export const runtimeIn = ({ images }: Pick<Context, 'images'>, type: string): Runtime | undefined =>
  images.find((image) => image.type === type)?.runtime;

/** A type in the catalogue, of apps or of services. */
export const imageType = ({ images }: Context, use: 'app' | 'service'): Shape<string> =>
  refined(label(`a type such as ${exampleOf(images, use)}`), (type, { path, report }, node) => {
    const offered = images.filter(isFor(use));
    const found = offered.find((image) => image.type === type);
    if (found?.isDeprecated) report.warn(node.at, path, deprecation(found, offered));
    if (found?.isUntried)
      report.warn(
        node.at,
        path,
        `${type} is untried: nobody is known to have run it here. Try it in a branch first, with data that can be lost.`,
      );
    if (found) return type;
    report.error(node.at, path, `Found the type ${quoted(type)}, ${complaint(type, images, offered)}.`);
    return undefined;
  });

const isFor = (use: 'app' | 'service') => (image: Image) => isForServices(image) === (use === 'service');

const exampleOf = (images: readonly Image[], use: 'app' | 'service') => images.find(isFor(use))?.type ?? 'name:version';

/** A line that people can write in the place of theirs. */
function lineInstead(type: string, versions: readonly Image[]): string {
  const supported = versions.filter((image) => !image.isDeprecated);
  const candidates = (supported.length > 0 ? supported : versions).map((image) => versionOfType(image.type));
  return `"type: ${nameOfType(type)}:${nearestVersion(versionOfType(type), candidates)}"`;
}

/** `versions`: those of the same type that there are. */
function versionComplaint(type: string, versions: readonly Image[]): string {
  const expected = type.includes(':') ? 'a version that exists' : 'it with a version';
  const isRetired = versions.some(({ retired }) => retired?.includes(versionOfType(type)));
  const why = isRetired ? 'which is retired, because nobody mends it any more; ' : '';
  return `${why}expected ${expected}: ${versions.map((image) => image.type).join(', ')}. The nearest is ${lineInstead(type, versions)}`;
}

function deprecation({ type }: Image, offered: readonly Image[]): string {
  const versions = offered.filter((image) => nameOfType(image.type) === nameOfType(type));
  return `${type} is deprecated: it works, and will be retired. The next is ${lineInstead(type, versions)}.`;
}

function complaint(type: string, images: readonly Image[], offered: readonly Image[]): string {
  const name = nameOfType(type);
  const other = offered[0] && isForServices(offered[0]) ? 'applications' : 'services';
  const versions = offered.filter((image) => nameOfType(image.type) === name);
  if (versions.length > 0) return versionComplaint(type, versions);
  const names = nearestFirst(name, [...new Set(offered.map((image) => nameOfType(image.type)))]).join(', ');
  if (name === 'composable') return `but composable images are not offered here; expected one of ${names}, with a version`;
  if (images.some((image) => nameOfType(image.type) === name)) return `which is for ${other}; expected one of ${names}`;
  return `expected one of ${names}`;
}
