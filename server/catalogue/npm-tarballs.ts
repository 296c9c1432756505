/** Programs that come as npm packages, one for each architecture, in versions that both have. */
import type { NpmPackage } from '../drivers/images/recipe.ts';

export interface Tarballs {
  version: string;
  /** SHA-512, in base64. */
  x64: string;
  arm64: string;
}

/** `name` is that of the packages without the architecture. */
export function tarballFor(name: string, { version, ...hashes }: Tarballs): Pick<NpmPackage, 'name' | 'version' | 'integrity'> {
  const hash: string | undefined = new Map(Object.entries(hashes)).get(process.arch);
  return { name: `${name}-${process.arch}`, version, integrity: hash === undefined ? '' : `sha512-${hash}` };
}
