/** What is written down of an upgrade: the one that is under way, for whoever comes after a kill, and the last one that succeeded, for the way back. */
import { existsSync, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { writeWhole } from '../../server/data-folder.ts';
import type { Places } from './places.ts';

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

const underWay = ({ programs }: Places) => join(programs, 'upgrade.json');
const last = ({ programs }: Places) => join(programs, 'last-upgrade.json');

const read = (file: string): Change | undefined =>
  existsSync(file) ? Value.Parse(Change, JSON.parse(readFileSync(file, 'utf8'))) : undefined;

export const unfinishedChange = (places: Places) => read(underWay(places));
export const lastChange = (places: Places) => read(last(places));
export const noteChange = (places: Places, change: Change) => writeWhole(underWay(places), JSON.stringify(change));

export async function finishChange(places: Places, outcome: 'done' | 'taken-back' = 'done'): Promise<void> {
  if (outcome === 'done') await rename(underWay(places), last(places));
  else await rm(underWay(places), { force: true });
}
