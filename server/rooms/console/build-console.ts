/**
 * Builds the console from its sources into a folder: `node build-console.ts <folder>`. A program of its own, because the platform needs none of what builds:
 * it is started in the background when the folder is missing (built-console.ts). Every file is stored beside its compressed forms, so that serving one takes
 * no compression.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { consolePath, sourceFolder } from './sources.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say where the console is to be built: node build-console.ts <folder>');

await build({
  configFile: false,
  root: sourceFolder,
  base: `${consolePath}/`,
  logLevel: 'error',
  oxc: { jsx: { runtime: 'automatic', importSource: 'react' } },
  build: {
    outDir: folder,
    emptyOutDir: true,
    target: 'es2023',
    // No script and no style is written into the page: its content policy refuses both.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});

const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
for (const name of globSync('assets/*', { cwd: folder })) {
  const bytes = readFileSync(join(folder, name));
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, brotli));
  writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
}
