/** What of the catalogue matters to a configuration. */
import type { Catalogue } from '../../../drivers/images/catalogue.ts';
import type { PhpExtensions } from '../../../drivers/images/php.ts';

export interface Image {
  /** `nodejs:22` */
  type: string;
  isService: boolean;
  /** A service of which only its files are of use, by mounts. */
  isStorage?: true;
  /** Of services: the endpoint of relationships that name none; undefined where there is none. */
  endpoint?: string;
  /** Those there are, of PostgreSQL; undefined: not known. */
  extensions?: readonly string[];
  /** The same of PHP. */
  phpExtensions?: PhpExtensions;
}

export const imagesOf = (catalogue: Catalogue): Image[] =>
  Object.entries(catalogue).flatMap(([name, { versions, service, isStorage, extensions }]) =>
    versions.map(({ version }) => ({
      type: `${name}:${version}`,
      isService: service !== undefined || isStorage === true,
      ...(isStorage && { isStorage }),
      ...(service && { endpoint: service.relationship.rel }),
      ...(extensions && { phpExtensions: extensions }),
    })),
  );

export const nameOfType = (type: string) => type.split(':', 1)[0] ?? '';
