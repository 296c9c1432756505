/** As `eventually`, but looking once a second: where each look is work for an emulated machine, looking all the time keeps it from getting there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../eventually.ts';

export const lookMilliseconds = 1000;

export const patiently = (what: string, isSo: () => boolean | Promise<boolean>, secondsMax: number, report?: () => string) =>
  eventually(what, async () => (await isSo()) || sleep(lookMilliseconds, false), secondsMax, report);
