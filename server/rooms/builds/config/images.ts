/** What of the catalogue matters to a configuration. */
import type { Catalogue } from '../../../drivers/images/catalogue.ts';

export interface Image {
  /** `nodejs:22` */
  type: string;
  isService: boolean;
  /** Of services: the endpoint of relationships that name none; undefined where there is none. */
  endpoint?: string;
  /** Those there are, of PHP and PostgreSQL; undefined: not known. */
  extensions?: readonly string[];
}

export const imagesOf = (catalogue: Catalogue): Image[] =>
  Object.entries(catalogue).flatMap(([name, { versions, service }]) =>
    versions.map(({ version }) => ({
      type: `${name}:${version}`,
      isService: service !== undefined,
      ...(service && { endpoint: service.relationship.rel }),
    })),
  );

export const nameOfType = (type: string) => type.split(':', 1)[0] ?? '';
