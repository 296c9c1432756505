/** What the tables of the language need to know about the rest of the configuration, and of the platform. */
import { nameOfType } from '../../../../catalogue/catalogue.ts';
import type { Runtime } from '../../../../catalogue/runtime.ts';
import { type Image, isForServices } from '../images.ts';
import { quoted } from '../message.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import { label, type Shape, refined } from '../shape.ts';

export interface Context {
  images: readonly Image[];
  /** Whether locations run scripts unless they say otherwise: `locations_script_default` of the project. */
  scriptsByDefault: boolean;
  /** Between two runs of a cron, whatever its schedule says: `cron_minimum_interval` of the project. */
  cronMinutesMin: number;
  isLegacy: boolean;
  /** What relationships and routes may name. */
  targets: ReadonlyMap<string, Target>;
  /** What mounts may share the volume of: apps and `<app>--<worker>`. */
  volumes: ReadonlySet<string>;
}

export interface Target {
  kind: 'application' | 'service';
  /** Undefined: it is wrong itself, so nothing is held against those who name it. */
  endpoints: readonly string[] | undefined;
  /** For those who name none; undefined where that is not possible. */
  defaultEndpoint: string | undefined;
  /** It has files that can be mounted. */
  isStorage?: boolean;
}

/** Undefined: it is no type of app. */
export const runtimeIn = ({ images }: Pick<Context, 'images'>, type: string): Runtime | undefined =>
  images.find((image) => image.type === type)?.runtime;

/** A type of the catalogue: for apps, or for services. */
export const imageType = ({ images }: Context, use: 'app' | 'service'): Shape<string> =>
  refined(label(`a type such as ${exampleOf(images, use)}`), (type, { path, report }, node) => {
    const offered = images.filter(isFor(use));
    if (offered.some((image) => image.type === type)) return type;
    report.error(node.at, path, `Found the type ${quoted(type)}, ${complaint(type, images, offered)}.`);
    return undefined;
  });

const isFor = (use: 'app' | 'service') => (image: Image) => isForServices(image) === (use === 'service');

const exampleOf = (images: readonly Image[], use: 'app' | 'service') => images.find(isFor(use))?.type ?? 'name:version';

function complaint(type: string, images: readonly Image[], offered: readonly Image[]): string {
  const name = nameOfType(type);
  const other = offered[0] && isForServices(offered[0]) ? 'applications' : 'services';
  const versions = offered.filter((image) => nameOfType(image.type) === name).map((image) => image.type);
  if (versions.length > 0) return `expected ${type.includes(':') ? 'a version that exists' : 'it with a version'}: ${versions.join(', ')}`;
  const names = nearestFirst(name, [...new Set(offered.map((image) => nameOfType(image.type)))]).join(', ');
  if (name === 'composable') return `but composable images are not offered here; expected one of ${names}, with a version`;
  if (images.some((image) => nameOfType(image.type) === name)) return `which is for ${other}; expected one of ${names}`;
  return `expected one of ${names}`;
}
