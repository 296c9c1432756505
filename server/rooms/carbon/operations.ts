import { Type } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { Ulid } from '../../kernel/schema.ts';
import { EnvironmentEntity } from '../environments/public.ts';
import { OrganizationEntity } from '../organizations/public.ts';
import { OrganizationProjectEntity } from '../subscriptions/public.ts';
import { added, chargesOf, nothing } from './account.ts';
import type { Day } from '../../kernel/days.ts';
import { parts, totalOf, type Charge } from './energy.ts';
import { projectsEverOf } from './queries.ts';
import { readTimeFrame, TimeFrameQuery, type TimeFrame } from './time-frame.ts';

const Moment = Type.String({ format: 'date-time' });
const Emissions = Type.Number({ description: 'Kilograms of CO2 equivalent, to the microgram.' });
const KilowattHours = Type.Number({ description: 'Kilowatt-hours, to the microwatt-hour.' });
const Meta = Type.Object({ from: Moment, to: Moment, interval: Type.String(), units: Type.String() });
const Values = Type.Array(Type.Object({ value: Emissions, start_time: Moment }));
const ProjectValues = { project_id: ProjectId, project_title: Type.String(), values: Values };

/** Micrograms in kilograms, microwatt-hours in kilowatt-hours. What is printed has nine decimals at most, so that printed values add up to printed totals. */
const microInKilo = 1e9;
const kilo = (micro: bigint) => Number(micro) / microInKilo;

/** The beginning of a day, as each family of the API writes times. */
type Written = (day: Day) => string;
const inMilliseconds: Written = (day) => `${day}T00:00:00.000Z`;
const inMicroseconds: Written = (day) => `${day}T00:00:00.000000+00:00`;

const metaOf = ({ from, to, interval }: TimeFrame, written: Written) => ({
  from: written(from),
  to: written(to),
  interval,
  units: 'kg CO2e',
});

/** A charge for every interval, also for those without one. */
const inEach = ({ starts }: TimeFrame, charges: ReadonlyMap<Day, Charge> | undefined): [Day, Charge][] =>
  starts.map((start) => [start, charges?.get(start) ?? nothing]);

const valueOf = ([start, { emissions }]: [Day, Charge]) => ({ value: kilo(emissions), start_time: inMilliseconds(start) });
const sumOf = (charges: Iterable<Charge>) => [...charges].reduce(added, nothing);

export const getOrganizationCarbon = operation({
  summary: 'Tell the carbon emissions of all projects of an organization',
  endpoint: 'GET /organizations/{organization_id}/metrics/carbon',
  on: OrganizationEntity,
  rel: 'carbon',
  permission: 'organization:list-projects',
  query: TimeFrameQuery,
  returns: plain(Type.Object({ organization_id: Ulid, meta: Meta, projects: Type.Array(Type.Object(ProjectValues)), total: Emissions })),
  handle: async ({ target, query }, platform) => {
    const now = Date.now();
    const frame = readTimeFrame(query, now);
    const projects = await projectsEverOf(platform.db, target.id);
    const charges = await chargesOf(platform, { projects: projects.map(({ id }) => id) }, frame, now);
    // Of deleted projects, those that are part of the total are told, so that it is the sum of what is told.
    const told = projects.filter(({ id, is_deleted }) => !is_deleted || charges.has(id));
    return {
      organization_id: target.id,
      meta: metaOf(frame, inMilliseconds),
      projects: told.map(({ id, title }) => ({
        project_id: id,
        project_title: title,
        values: inEach(frame, charges.get(id)).map(valueOf),
      })),
      total: kilo(sumOf(charges.values().flatMap((ofProject) => ofProject.values())).emissions),
    };
  },
});

export const getProjectCarbon = operation({
  summary: 'Tell the carbon emissions of a project, with those of environments that it had',
  endpoint: 'GET /organizations/{organization_id}/projects/{project_id}/metrics/carbon',
  on: OrganizationProjectEntity,
  permission: 'contract:view',
  query: TimeFrameQuery,
  returns: plain(Type.Object({ ...ProjectValues, meta: Meta, total: Emissions })),
  handle: async ({ target, query }, platform) => {
    const now = Date.now();
    const frame = readTimeFrame(query, now);
    const charges = (await chargesOf(platform, { projects: [target.id] }, frame, now)).get(target.id);
    return {
      project_id: target.id,
      project_title: target.title,
      meta: metaOf(frame, inMilliseconds),
      values: inEach(frame, charges).map(valueOf),
      total: kilo(sumOf(charges?.values() ?? []).emissions),
    };
  },
});

const Parts = Type.Object(Object.fromEntries(parts.map((part) => [part, KilowattHours])));

/** Not in the published API: what one branch costs in energy. */
export const getEnvironmentCarbon = operation({
  summary: 'Tell the energy and the carbon emissions of an environment',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/metrics/carbon',
  on: EnvironmentEntity,
  rel: '#carbon',
  permission: 'environment:view',
  query: TimeFrameQuery,
  returns: plain(
    Type.Object({
      project_id: ProjectId,
      environment_id: EnvironmentId,
      meta: Type.Object({ ...Meta.properties, energy_units: Type.String() }),
      values: Type.Array(Type.Object({ value: Emissions, energy: KilowattHours, start_time: Moment })),
      total: Emissions,
      energy: Type.Object({ total: KilowattHours, parts: Parts }),
    }),
  ),
  handle: async ({ target: { project_id, id, machine_name }, query }, platform) => {
    const now = Date.now();
    const frame = readTimeFrame(query, now);
    const charges = (await chargesOf(platform, { projects: [project_id], environment: machine_name }, frame, now)).get(project_id);
    const total = sumOf(charges?.values() ?? []);
    return {
      project_id,
      environment_id: id,
      meta: { ...metaOf(frame, inMicroseconds), energy_units: 'kWh' },
      values: inEach(frame, charges).map(([start, { emissions, energy }]) => ({
        value: kilo(emissions),
        energy: kilo(totalOf(energy)),
        start_time: inMicroseconds(start),
      })),
      total: kilo(total.emissions),
      energy: {
        total: kilo(totalOf(total.energy)),
        parts: Object.fromEntries(parts.map((part) => [part, kilo(total.energy[part])])),
      },
    };
  },
});
