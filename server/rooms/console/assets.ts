/** The files of a built console, all in memory: less than a megabyte, with every compressed form. Serving one is a look into a map. */
import { globSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { html } from '../../kernel/html.ts';

export interface Assets {
  /** The one page, which every address of the console is answered with. */
  page: string;
  files: ReadonlyMap<string, Asset>;
}

export interface Asset {
  type: string;
  bytes: Readonly<Record<Encoding, Buffer>>;
}

export type Encoding = 'br' | 'gzip' | 'identity';

const endings: Record<Encoding, string> = { br: '.br', gzip: '.gz', identity: '' };

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page is told the address under which sign-ins come back, because people may have reached the platform by another name. */
export function readAssets(folder: string, url: string): Assets {
  const names = globSync('assets/*', { cwd: folder }).filter((name) => types[extname(name)] !== undefined);
  const page = readFileSync(join(folder, 'index.html'), 'utf8').replace('%OFFSHOOT_URL%', () => html`${url}`.html);
  return { page, files: new Map(names.map((name) => [basename(name), readAsset(join(folder, name))])) };
}

const readAsset = (file: string): Asset => ({
  type: types[extname(file)] ?? '',
  bytes: {
    br: readFileSync(`${file}${endings.br}`),
    gzip: readFileSync(`${file}${endings.gzip}`),
    identity: readFileSync(`${file}${endings.identity}`),
  },
});
