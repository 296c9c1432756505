import { expect, test } from 'vitest';
import { catalogue } from '../../../catalogue/catalogue.ts';
import { imagesOf } from './images.ts';
import { readConfiguration } from './read-configuration.ts';
import { said, treeOf } from './test-trees.ts';

const configured = (mount: string, services = `{files: {type: 'network-storage:1.0', disk: 256}, cache: {type: 'redis:7.0'}}`) =>
  readConfiguration(
    treeOf({
      '.upsun/config.yaml': `applications:
  app:
    type: nodejs:22
    web: {commands: {start: node server.js}}
    mounts: {shared: ${mount}}
    workers: {queue: {commands: {start: sleep 1}}}
services: ${services}
`,
    }),
    { images: imagesOf(catalogue), scriptsByDefault: true, cronMinutesMin: 5 },
  );

test('a mount can be of a service that is nothing but files, by the app and its workers', async () => {
  const { model } = await configured('{source: service, service: files, source_path: pictures}');
  const mounts = { '/shared': { source: 'service', service: 'files', source_path: 'pictures' } };
  expect([model?.applications['app']?.mounts, model?.applications['app']?.workers['queue']?.mounts]).toEqual([mounts, mounts]);
  expect(model?.services['files']).toMatchObject({ type: 'network-storage:1.0', databases: [], endpoints: {} });
});

test('a mount of what has no files to mount is refused, naming what has', async () => {
  const place = '5:14 applications.app.mounts.shared';
  const errorsOf = async (...of: Parameters<typeof configured>) => said((await configured(...of)).errors);
  const expected = 'expected service to name one of the type network-storage';
  expect(await errorsOf('{source: service, service: cache}')).toEqual([`${place}: Found the service "cache", ${expected}: files.`]);
  expect(await errorsOf('{source: service, service: app}')).toEqual([`${place}: Found the service "app", ${expected}: files.`]);
  expect(await errorsOf('{source: service, service: fils}')).toEqual([`${place}: Found the service "fils", ${expected}: files.`]);
  expect(await errorsOf('{source: service}')).toEqual([`${place}: Found a mount of a service without its name, ${expected}: files.`]);
  expect(await errorsOf('{source: service, service: cache}', `{cache: {type: 'redis:7.0'}}`)).toEqual([
    `${place}: Found the service "cache", ${expected}: there is none.`,
  ]);
  const wrong = await errorsOf('{source: service, service: files}', `{files: {type: 'network-storage:7'}}`);
  expect(wrong).toEqual([expect.stringContaining('network-storage:1.0, network-storage:2.0')]);
  const related = `{files: {type: 'network-storage:1.0', configuration: {size: 1}}}`;
  expect(await errorsOf('{source: storage}', related)).toEqual([expect.stringContaining('network-storage:1.0 has nothing to configure')]);
});
