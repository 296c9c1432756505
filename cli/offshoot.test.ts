/** The one command, as a shell finds it before anything was brought. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'offshoot-command-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** Of a folder that has the command and nothing that it brings. */
function said(folder: string, ...args: string[]) {
  const here = join(scratch, folder);
  mkdirSync(here, { recursive: true });
  for (const file of ['offshoot', 'package.json', 'package-lock.json']) copyFileSync(join(root, file), join(here, file));
  const text = execFileSync(join(here, 'offshoot'), args, { encoding: 'utf8' });
  expect(existsSync(join(here, 'node_modules'))).toBe(false);
  return text;
}

test('tells its version and the commit of a clone', () => {
  const commit = existsSync(join(root, '.git')) ? ' \\([0-9a-f]{7,} of \\d{4}-\\d\\d-\\d\\d\\)' : '';
  const text = execFileSync(join(root, 'offshoot'), ['--version'], { encoding: 'utf8' });
  expect(text).toMatch(new RegExp(`^Offshoot ${version.replaceAll('.', '\\.')}${commit}\n$`));
});

test('tells of an archive the version alone, and of the program of a service what its folder is named by', () => {
  expect(said('archive', '--version')).toBe(`Offshoot ${version}\n`);
  expect(said(`${version}-72b18a3c11f0`, '--version')).toBe(`Offshoot ${version} (72b18a3c11f0)\n`);
});

test('says how to begin without bringing anything first', () => {
  expect(said('archive', 'help')).toContain('start');
  expect(said('archive')).toBe(said('archive', '--help'));
});

/** Stands in for npm: notes what it is asked for, and brings programs that do nothing. */
const npm = `#!/bin/sh
echo "$@" >>asked
mkdir -p node_modules/.bin node_modules/node-linux-here/bin
for program in ../node-linux-here/bin/node tsc oxlint oxfmt; do
  printf '#!/bin/sh\\n' >node_modules/.bin/$program
  chmod 755 node_modules/.bin/$program
done
`;

test('to run, it brings no packages for developers; whoever has those keeps them', () => {
  const here = join(scratch, 'modules');
  mkdirSync(join(here, 'bin'), { recursive: true });
  for (const file of ['offshoot', 'package.json', 'package-lock.json']) copyFileSync(join(root, file), join(here, file));
  writeFileSync(join(here, 'bin', 'npm'), npm, { mode: 0o755 });
  // As node of this machine: not an old one.
  writeFileSync(join(here, 'bin', 'node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const asked = (command: string) => {
    writeFileSync(join(here, 'asked'), '');
    const env = { ...process.env, PATH: `${join(here, 'bin')}:${process.env['PATH']}` };
    execFileSync(join(here, 'offshoot'), [command], { cwd: here, env, stdio: 'pipe' });
    return readFileSync(join(here, 'asked'), 'utf8');
  };
  const becomesNewer = () => appendFileSync(join(here, 'package-lock.json'), '\n');
  expect(asked('doctor')).toMatch(/^install .*--omit=dev\n$/);
  expect(asked('doctor')).toBe('');
  becomesNewer();
  expect(asked('doctor')).toContain('--omit=dev');
  expect(asked('check')).toMatch(/^install (?!.*--omit)/);
  expect([asked('check'), asked('doctor')]).toEqual(['', '']);
  becomesNewer();
  expect(asked('doctor')).toMatch(/^install (?!.*--omit)/);
});
