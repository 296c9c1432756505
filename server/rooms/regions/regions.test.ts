import { beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../config.ts';
import { openTestPlatform, type Person } from '../../testing/platform.ts';
import { regionsOf } from './region.ts';

let ada: Person;

beforeAll(async () => {
  ada = await (await openTestPlatform()).person();
});

test('there is one region, made from the domain, unless told otherwise', async () => {
  const { status, json } = await ada.send('GET', '/regions');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    count: 1,
    regions: [
      {
        id: 'offshoot',
        label: 'offshoot.localhost',
        selection_label: 'offshoot.localhost',
        timezone: 'UTC',
        available: true,
        private: false,
        endpoint: 'http://127.0.0.1:8080/api',
        provider: { name: 'Offshoot', logo: '' },
        environmental_impact: { zone: '', carbon_intensity: '480', green: false },
      },
    ],
    _links: { self: { href: '/regions' } },
  });
  expect((await ada.send('GET', json.regions[0]._links.self.href)).json).toMatchObject({ id: 'offshoot' });
  expect((await ada.send('GET', '/regions/elsewhere')).status).toBe(404);
});

test('regions can be filtered as other lists', async () => {
  const count = async (query: string) => (await ada.send('GET', `/regions?${query}`)).json.count;
  expect(await count('filter[available]=true')).toBe(1);
  expect(await count('filter[available][eq]=1&filter[private]=0')).toBe(1);
  expect(await count('filter[private]=true')).toBe(0);
  expect(await count('filter[zone][in]=Europe,Asia')).toBe(0);
  expect(await count('filter[zone][ne]=Europe&sort=-id')).toBe(1);
  expect((await ada.send('GET', '/regions?filter[colour]=green')).status).toBe(400);
});

test('settings say where the region is and how clean its electricity', () => {
  const [region] = regionsOf(
    readConfig({
      OFFSHOOT_REGION: 'eu-1.example.org',
      OFFSHOOT_REGION_LABEL: 'Sweden',
      OFFSHOOT_REGION_ZONE: 'Europe',
      OFFSHOOT_REGION_TIMEZONE: 'Europe/Stockholm',
      OFFSHOOT_REGION_CARBON_INTENSITY: '28.5',
    }),
  );
  expect(region).toMatchObject({
    id: 'eu-1.example.org',
    label: 'Sweden',
    zone: 'Europe',
    selection_label: 'Europe, Sweden',
    timezone: 'Europe/Stockholm',
    environmental_impact: { zone: 'Europe', carbon_intensity: '28.5', green: true },
    envimpact: { carbon_intensity: 28.5, carbon_intensity_source: 'settings' },
  });
  for (const [name, value] of Object.entries({
    OFFSHOOT_REGION: 'EU 1',
    OFFSHOOT_REGION_TIMEZONE: 'Mars/Olympus',
    OFFSHOOT_REGION_CARBON_INTENSITY: 'clean',
    OFFSHOOT_REGION_LABEL: 'a\nb',
  })) {
    expect(() => readConfig({ [name]: value })).toThrow(name);
  }
});
