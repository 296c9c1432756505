import { beforeAll, expect, test } from 'vitest';
import { Problem } from '../../kernel/problem.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { readModel } from './read-model.ts';

let home: TestPlatform;
let project: string;
beforeAll(async () => {
  home = await openTestPlatform();
  ({ projectId: project } = await sampleProject(await home.person()));
  await home.platform.git.create(project, 'main');
});

const read = (files: Record<string, string>) =>
  readModel(home.platform, project, commitFiles(home.platform.git.path(project), undefined, files));

test('the configuration of a commit is read with what it includes', async () => {
  const found = await read({
    '.upsun/config.yaml': [
      'applications:',
      '  shop:',
      '    type: nodejs:22',
      '    source: { root: shop }',
      '    hooks: { build: !include { type: string, path: build.sh } }',
    ].join('\n'),
    'shop/build.sh': 'echo hello\n',
  });
  expect(found?.model.applications['shop']).toMatchObject({ source: { root: '/shop' }, hooks: { build: 'echo hello\n' } });
  expect([found?.warnings, found?.proposal]).toEqual([[], undefined]);
});

test('every mistake is told with its file and line, in the words that clients look for', async () => {
  const mistaken = await read({ '.upsun/config.yaml': 'applications:\n  app:\n    type: nodejs:1\n  other:\n    tipe: php:8.2\n' }).catch(
    (error: Problem) => error,
  );
  expect(mistaken).toMatchObject({ kind: 'invalid-request' });
  expect(mistaken instanceof Problem && mistaken.message.split('\n')).toEqual([
    'Error parsing configuration files:',
    expect.stringMatching(/^ {4}- \.upsun\/config\.yaml:3:\d+: applications\.app\.type: /),
    expect.stringMatching(/^ {4}- \.upsun\/config\.yaml:4:\d+: applications\.other\.type: /),
    expect.stringMatching(/^ {4}- \.upsun\/config\.yaml:5:\d+: applications\.other\.tipe: .*did you mean "type"/),
    'E: Error: Invalid configuration files, aborting build',
  ]);
});

test('without a configuration a guess is made, and told; where nothing is recognised there is nothing to deploy', async () => {
  const found = await read({ 'package.json': '{"name":"shop","scripts":{"start":"node server.js"}}', 'server.js': '' });
  expect(found?.model.applications['app']?.type).toMatch(/^nodejs:/);
  expect(found?.proposal).toMatch(
    /^No configuration found; package\.json says that this is Node\.js\..*config\.yaml:\n {4}applications:\n/,
  );
  expect(await read({ 'notes.txt': 'hello' })).toBeUndefined();
  await expect(readModel(home.platform, project, '0'.repeat(40))).rejects.toThrow('There is no commit');
});
