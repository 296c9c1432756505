/** What is written down of an upgrade: the one that is under way, for whoever comes after a kill, and the last one that succeeded, for the way back. */
import { existsSync, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { writeWhole } from '../../server/data-folder.ts';
import type { ServicePaths } from './service-paths.ts';

const Change = Type.Object({
  /** The versions before and after the change. */
  from: Type.String(),
  to: Type.String(),
  begunAt: Type.String(),
  /** While `keeping`, nothing is changed yet, but the platform may be stopped. */
  step: Type.Union([Type.Literal('keeping'), Type.Literal('switching')]),
  /** The folder that holds what was there before the change. */
  kept: Type.String(),
  /** The folder of the database that goes with `to`; without it, `to` takes the database as it is. */
  loads: Type.Optional(Type.String()),
  /** The folder of the unit files that go with `to`; without it, those of this program are used. */
  unitsOf: Type.Optional(Type.String()),
});
export type Change = Static<typeof Change>;

const underWay = ({ programs }: ServicePaths) => join(programs, 'upgrade.json');
const last = ({ programs }: ServicePaths) => join(programs, 'last-upgrade.json');

const read = (file: string): Change | undefined =>
  existsSync(file) ? Value.Parse(Change, JSON.parse(readFileSync(file, 'utf8'))) : undefined;

export const unfinishedChange = (paths: ServicePaths) => read(underWay(paths));
export const lastChange = (paths: ServicePaths) => read(last(paths));
export const noteChange = (paths: ServicePaths, change: Change) => writeWhole(underWay(paths), JSON.stringify(change));

export async function finishChange(paths: ServicePaths, outcome: 'done' | 'taken-back' = 'done'): Promise<void> {
  if (outcome === 'done') await rename(underWay(paths), last(paths));
  else await rm(underWay(paths), { force: true });
}
