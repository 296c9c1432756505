/** What of the catalogue matters to a configuration. */
import type { Catalogue, CatalogueEntry } from '../../../catalogue/catalogue.ts';
import type { Version } from '../../../catalogue/entry.ts';

/** A type that there is, such as `nodejs:22`, and what is said of it: a runtime, a service that runs, or storage. */
export interface Image
  extends Pick<CatalogueEntry, 'runtime' | 'service' | 'isStorage' | 'retired'>, Pick<Version, 'isDeprecated' | 'isUntried'> {
  type: string;
}

export const isForServices = ({ runtime }: Image) => runtime === undefined;

export const imagesOf = (catalogue: Catalogue): Image[] =>
  Object.entries(catalogue).flatMap(([name, { versions, retired, runtime, service, isStorage }]) =>
    versions.map(({ version, isDeprecated, isUntried }) => ({
      type: `${name}:${version}`,
      ...(runtime && { runtime }),
      ...(service && { service }),
      ...(isStorage && { isStorage }),
      ...(isDeprecated && { isDeprecated }),
      ...(isUntried && { isUntried }),
      ...(retired && { retired }),
    })),
  );
