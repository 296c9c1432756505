/** Which type of ours stands for what something else calls it, and which of the versions that are offered is the nearest. */
import { catalogue } from '../../server/catalogue/catalogue.ts';

export interface Offered {
  type: string;
  /** Where the version is another one than was asked for. */
  instead?: string;
}

/** The same version; otherwise the next newer one, because data and programs mostly go up and rarely down; otherwise the newest. */
export function offeredType(name: string, wanted: string | undefined): Offered | undefined {
  const versions = Object.hasOwn(catalogue, name) ? (catalogue[name]?.versions ?? []) : [];
  const usual = versions.filter(({ isDeprecated }) => !isDeprecated).map(({ version }) => version);
  const [newest] = usual.length > 0 ? usual : versions.map(({ version }) => version);
  if (newest === undefined) return undefined;
  if (wanted === undefined) return { type: `${name}:${newest}`, instead: `No version was named, so it is the newest here: ${newest}.` };
  const all = versions.map(({ version }) => version);
  const found = all.find((version) => covers(version, wanted));
  if (found !== undefined) return { type: `${name}:${found}` };
  const newer = all.filter((version) => compare(version, wanted) > 0).toSorted(compare)[0] ?? newest;
  return {
    type: `${name}:${newer}`,
    instead: `Version ${wanted} is not offered here; ${newer} is the nearest. Offered are ${all.join(', ')}.`,
  };
}

/** `7.0` covers `7.0.15`, and `17` covers `17.2`; whoever asks for `7` gets a `7.0`. */
const covers = (offered: string, wanted: string) => `${wanted}.`.startsWith(`${offered}.`) || `${offered}.`.startsWith(`${wanted}.`);

const compare = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
