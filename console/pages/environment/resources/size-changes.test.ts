import { expect, test } from 'vitest';
import type { NextDeployment, SizedContainer } from '../../../api/size-queries.ts';
import { changeOf, rowsOf } from './size-changes.ts';

const container = (disk: number | null, least: number | null): SizedContainer => ({
  type: 'nodejs:24',
  container_profile: 'HIGH_CPU',
  supports_horizontal_scaling: true,
  instance_count: 1,
  disk,
  resources: { profile_size: '0.5', minimum: { cpu: 0.25, disk: least, profile_size: '0.25' } },
});

const next: NextDeployment = {
  _links: {},
  container_profiles: { HIGH_CPU: { '1': { cpu: 1, memory: 384 }, '0.5': { cpu: 0.5, memory: 224 }, '0.1': { cpu: 0.1, memory: 64 } } },
  webapps: { app: container(512, 256) },
  workers: {},
  services: { cache: container(null, null) },
};

test('sizes are offered from the smallest that can be had, and a disk where there can be one', () => {
  expect(rowsOf(next).map(({ name, sizes, hasDisk }) => [name, sizes.map((size) => size.name), hasDisk])).toEqual([
    ['app', ['0.5', '1'], true],
    ['cache', ['0.5', '1'], false],
  ]);
});

test('only what differs from what is there is asked for', () => {
  const rows = rowsOf(next);
  expect(changeOf(rows, {})).toEqual({});
  expect(changeOf(rows, { 'webapps.app': { size: '0.5', instances: '1', disk: ' ' }, 'services.cache': { size: '1' } })).toEqual({
    services: { cache: { resources: { profile_size: '1' } } },
  });
  expect(changeOf(rows, { 'webapps.app': { instances: '3', disk: '1024' } })).toEqual({
    webapps: { app: { instance_count: 3, disk: 1024 } },
  });
});
