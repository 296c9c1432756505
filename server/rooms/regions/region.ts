/** Where projects run. This installation is one region, described by its settings; nothing of it is in the database. */
import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { entity } from '../../kernel/operation.ts';

/** A region's electricity counts as green below this many grams of CO2 equivalent per kWh. */
const greenBelow = 100;

/** The average of the world, for installations whose settings do not name a value. */
const carbonIntensityOfTheWorld = 480;

export const regionFields = {
  id: Type.String(),
  label: Type.String(),
  zone: Type.String({ description: 'The geographical zone.' }),
  selection_label: Type.String(),
  project_label: Type.String(),
  timezone: Type.String(),
  available: Type.Boolean({ description: 'Whether new projects can be made here.' }),
  private: Type.Boolean(),
  endpoint: Type.String({ description: 'The address of its API.' }),
  provider: Type.Object({ name: Type.String(), logo: Type.String() }),
  datacenter: Type.Object({ name: Type.String(), label: Type.String(), location: Type.String() }),
  environmental_impact: Type.Object({
    zone: Type.String(),
    carbon_intensity: Type.String({ description: 'Grams of CO2 equivalent for a kWh.' }),
    green: Type.Boolean(),
  }),
};

export type Region = ReturnType<typeof regionsOf>[number];

export const RegionEntity = entity({
  name: 'region',
  path: '/regions/{region_id}',
  params: { region_id: Type.String({ maxLength: 253 }) },
  schema: Type.Object(regionFields),
  address: ({ id }: Region) => ({ region_id: id }),
  scope: () => ({}),
  view: 'signed-in',
  load: async ({ region_id }, { config }) => regionsOf(config).find(({ id }) => id === region_id),
});

export function regionsOf({ region: { id, label, zone, timezone, carbonIntensity }, url }: Pick<Config, 'region' | 'url'>) {
  const grams = carbonIntensity ?? carbonIntensityOfTheWorld;
  const green = grams < greenBelow;
  return [
    {
      id,
      label,
      zone,
      selection_label: zone === '' ? label : `${zone}, ${label}`,
      project_label: label,
      timezone,
      available: true,
      private: false,
      endpoint: `${url}/api`,
      provider: { name: 'Offshoot', logo: '' },
      datacenter: { name: id, label, location: zone },
      environmental_impact: { zone, carbon_intensity: String(grams), green },
      /** The environmental impact again, under the names that references use. */
      envimpact: {
        zone,
        carbon_intensity: grams,
        carbon_intensity_source: carbonIntensity === undefined ? 'world average' : 'settings',
        green,
      },
    },
  ];
}
