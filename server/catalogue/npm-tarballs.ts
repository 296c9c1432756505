/** Programs that come as npm packages, one for each architecture, in versions that both have. */
import type { NpmPackage } from '../drivers/images/recipe.ts';

export interface Tarballs {
  version: string;
  /** The SHA-512 hashes of the tarballs, in base64, by architecture. */
  x64: string;
  arm64: string;
}

/** The package for this machine. `name` is the name of the packages without the architecture at its end. */
export function tarballFor(name: string, { version, ...hashes }: Tarballs): Pick<NpmPackage, 'name' | 'version' | 'integrity'> {
  const hash: string | undefined = new Map(Object.entries(hashes)).get(process.arch);
  return { name: `${name}-${process.arch}`, version, integrity: hash === undefined ? '' : `sha512-${hash}` };
}
