import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Git } from './git.ts';
import { openGit } from './open-git.ts';

const folder = mkdtempSync(join(tmpdir(), 'offshoot-checkout-'));
const project = 'abcdef123456';
let driver: Git;
let made = 0;

beforeAll(async () => {
  driver = await openGit(join(folder, 'repositories'), { allowPrivateAddresses: [] });
  await driver.create(project, 'main');
});
afterAll(async () => {
  await driver.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

const blob = (content: string | Buffer) =>
  execFileSync('git', ['--git-dir', driver.path(project), 'hash-object', '-w', '--stdin'], { input: content, encoding: 'utf8' }).trim();
/** As Git would never write it, where that is what is wanted. */
const treeOf = (...entries: [mode: string, name: string, sha: string][]): string => {
  const content = Buffer.concat(entries.flatMap(([mode, name, sha]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, 'hex')]));
  const args = ['--git-dir', driver.path(project), 'hash-object', '-t', 'tree', '-w', '--literally', '--stdin'];
  return execFileSync('git', args, { input: content, encoding: 'utf8' }).trim();
};
const emptyFolder = () => {
  const path = join(folder, `out-${(made += 1)}`);
  mkdirSync(path);
  return path;
};

test('a tree is written out byte for byte, with modes and links, whatever its attributes say', async () => {
  const [windows, ident] = ['one\r\ntwo\n', '$Id$\n'];
  const attributes = '* text eol=crlf ident filter=evil export-ignore\n*.16 working-tree-encoding=UTF-16\n';
  const inner = treeOf(['100644', '.gitattributes', blob('* text eol=crlf\n')], ['100644', 'deep.txt', blob('x\n')]);
  const tree = treeOf(
    ['100644', '.gitattributes', blob(attributes)],
    ['100644', 'a.16', blob('ascii\n')],
    ['100644', 'a.txt', blob(windows)],
    ['100644', 'ident', blob(ident)],
    ['40000', 'inner', inner],
    ['120000', 'link', blob('/etc/passwd')],
    ['160000', 'module', 'a'.repeat(40)],
    ['100755', 'run me', blob('#!/bin/sh\n')],
  );
  const out = emptyFolder();
  await driver.checkout(project, tree, out);
  const text = (path: string) => readFileSync(join(out, path), 'latin1');
  expect(readdirSync(out).sort()).toEqual(['.gitattributes', 'a.16', 'a.txt', 'ident', 'inner', 'link', 'module', 'run me']);
  expect([text('a.txt'), text('ident'), text('a.16'), text('inner/deep.txt')]).toEqual([windows, ident, 'ascii\n', 'x\n']);
  expect(readlinkSync(join(out, 'link'))).toBe('/etc/passwd');
  expect(readdirSync(join(out, 'module'))).toEqual([]);
  expect([lstatSync(join(out, 'run me')).mode & 0o111, lstatSync(join(out, 'a.txt')).mode & 0o111]).toEqual([0o111, 0]);
  expect(readdirSync(join(folder, 'repositories'), { recursive: true }).filter((path) => String(path).includes('checkout-'))).toEqual([]);
});

test('a tree that leads out of its folder, or into a repository, is refused', async () => {
  const file = blob('x');
  const hostile = [
    treeOf(['100644', '..', file]),
    treeOf(['40000', '..', treeOf(['100644', 'escaped', file])]),
    treeOf(['40000', '.git', treeOf(['100644', 'config', file])]),
    treeOf(['40000', '.GIT', treeOf(['100644', 'config', file])]),
  ];
  for (const tree of hostile)
    await expect(driver.checkout(project, tree, emptyFolder())).rejects.toMatchObject({ kind: 'invalid-request' });
  expect(readdirSync(folder)).not.toContain('escaped');

  const outside = emptyFolder();
  const throughLink = treeOf(['120000', 'a', blob(outside)], ['40000', 'a', treeOf(['100644', 'escaped', file])]);
  await driver.checkout(project, throughLink, emptyFolder()).catch(() => {});
  expect(readdirSync(outside)).toEqual([]);
});

test('thousands of files are all written; an order to stop is followed', async () => {
  const file = blob('x'.repeat(1000));
  const many = treeOf(
    ...Array.from({ length: 1000 }, (_, n) => ['100644', `file-${String(n).padStart(4, '0')}`, file] as [string, string, string]),
  );
  const tree = treeOf(...Array.from({ length: 10 }, (_, n) => ['40000', `folder-${n}`, many] as [string, string, string]));
  const out = emptyFolder();
  await driver.checkout(project, tree, out);
  for (const name of readdirSync(out)) expect(readdirSync(join(out, name))).toHaveLength(1000);
  await expect(driver.checkout(project, tree, emptyFolder(), AbortSignal.abort())).rejects.toThrow('abort');
});
