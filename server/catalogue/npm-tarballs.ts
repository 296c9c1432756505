/** Programs that come as npm packages, one for each architecture, in versions that both have. */
import type { NpmPackage } from '../drivers/images/recipe.ts';

export interface Tarballs {
  version: string;
  /** The SHA-512 hashes of the tarballs, in base64, by architecture. */
  x64: string;
  arm64: string;
}

type Architecture = 'x64' | 'arm64';

/** The package for this machine. `nameFor` is the name of the package by architecture. */
export function tarballFor(
  nameFor: (architecture: Architecture) => string,
  { version, ...hashes }: Tarballs,
): Pick<NpmPackage, 'name' | 'version' | 'integrity'> {
  // Elsewhere nothing is built (`debianArchitecture`); the catalogue can still be read.
  const architecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
  return { name: nameFor(architecture), version, integrity: `sha512-${hashes[architecture]}` };
}
