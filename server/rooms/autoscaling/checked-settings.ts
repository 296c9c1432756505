/** Settings as people ask for them, and what of it cannot be. All that cannot is told at once, each by its field. */
import { Problem } from '../../kernel/problem.ts';
import { directions, settingsFrom, together, triggerNames, type SaidService, type SettingsChange } from './settings.ts';

export interface Known {
  /** Apps and workers that can have several instances. */
  scalable: readonly string[];
  /** Those of them that answer no requests. */
  workers: readonly string[];
  /** Services: each has one instance. */
  singletons: readonly string[];
  instancesMax: number;
  said: Readonly<Record<string, SaidService>>;
}

/** What holds of each app and worker that the change names. */
export function checkedSettings({ services }: SettingsChange, known: Known): Record<string, SaidService> {
  const changes = Object.entries(services ?? {});
  const said = changes.map(([name, change]) => [name, change === null ? {} : together(known.said[name] ?? {}, change)] as const);
  const mistakes = said.flatMap(([name, settings]) => mistakesIn(name, settings, known));
  if (mistakes.length > 0)
    throw new Problem('invalid-request', mistakes.map(([field, mistake]) => `${field} ${mistake}.`).join(' '), {
      fields: Object.fromEntries(mistakes),
    });
  return Object.fromEntries(said);
}

type Mistake = readonly [field: string, mistake: string];

function mistakesIn(name: string, said: SaidService, known: Known): Mistake[] {
  const field = `services.${name}`;
  const nameMistake = mistakeOfName(name, known);
  if (nameMistake !== undefined) return [[field, nameMistake]];
  return [
    ...instanceMistakes(field, said, known.instancesMax),
    ...thresholdMistakes(field, said, known.instancesMax),
    ...latencyMistakes(field, said, known.workers.includes(name)),
  ];
}

function mistakeOfName(name: string, { scalable, singletons }: Known): string | undefined {
  if (scalable.includes(name)) return undefined;
  if (singletons.includes(name)) return 'cannot be scaled: a service has one instance';
  const choice = scalable.length === 0 ? 'nothing is deployed here yet' : `choose from ${scalable.join(', ')}`;
  return `does not name any application or worker of this environment; ${choice}`;
}

/** What was said is looked at, and not what holds: that keeps to the limit by itself. */
function instanceMistakes(field: string, { instances }: SaidService, instancesMax: number): Mistake[] {
  const { min, max } = { min: instances?.min ?? 1, max: instances?.max ?? instancesMax };
  const tooMany = (
    [
      ['min', min],
      ['max', max],
    ] as const
  ).filter(([, count]) => count > instancesMax);
  if (tooMany.length > 0) return tooMany.map(([bound]) => [`${field}.instances.${bound}`, `must be at most ${instancesMax}`]);
  return min > max ? [[`${field}.instances.min`, `cannot be more than max, which is ${max}`]] : [];
}

/** Only where both directions are on: with one of them nothing can go back and forth. */
function thresholdMistakes(field: string, said: SaidService, instancesMax: number): Mistake[] {
  const { triggers } = settingsFrom(said, instancesMax);
  return triggerNames.flatMap((name): Mistake[] => {
    const { up, down } = triggers[name];
    if (directions.some((direction) => !triggers[name][direction].enabled) || down.threshold < up.threshold) return [];
    return [[`${field}.triggers.${name}.down.threshold`, `must be below that of up, which is ${up.threshold}`]];
  });
}

const latencyMistakes = (field: string, { triggers }: SaidService, isWorker: boolean): Mistake[] =>
  isWorker && triggers?.latency ? [[`${field}.triggers.latency`, 'cannot be set: a worker answers no requests']] : [];
