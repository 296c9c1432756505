/**
 * What a task says, in the log of its activity, as much of it as of a build: each line once, also over kills of this process, for how far it was heard is stored together with the
 * lines. What the first process of its container says about itself comes in lines with a mark (run-task.sh), which nobody else sees.
 */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { LogLine } from '../../drivers/runtime/runtime.ts';
import type { Work } from '../../kernel/activity.ts';
import type { Machine } from '../../machine.ts';
import { maskOf, openBounded, shownLine } from '../builds/work.ts';
import { hiddenValues } from '../deployments/public.ts';
import type { TaskRun } from '../deployments/work.ts';

export type Speaking = Pick<Work<unknown>, 'activity' | 'log' | 'command' | 'tell'>;

/** The deploy hook, or the command itself. */
export type Part = 'deploy' | 'task';

const markCharacters = 16;

/** The mark before lines of the container's first process; no output of a task looks like that by chance. */
export const markOf = (activityId: string) =>
  `offshoot-${createHash('sha256').update(`task ${activityId}`).digest('hex').slice(0, markCharacters)}`;

const Said = Type.Object({ lines: Type.Integer(), characters: Type.Integer() });
/** How far the output was read: all lines before the moment `at`, and so many of that moment. `said` is how much of it is in the log. */
const Heard = Type.Object({ at: Type.String(), lines: Type.Integer(), said: Type.Optional(Said) });

const Payload = Type.Object({ heard: Heard });
const Commands = Type.Array(Type.Object({ type: Type.String(), exit_code: Type.Integer() }));

export function openTaskOutput({ activity, log, command, tell }: Speaking, { id, stack, task }: TaskRun, machine: Pick<Machine, 'traces'>) {
  const heard = Value.Check(Payload, activity.payload) ? { ...activity.payload.heard } : { at: '', lines: 0 };
  const ended = new Map(Value.Parse(Commands, activity.commands).map(({ type, exit_code }) => [type, exit_code]));
  const hasHook = isThere(task.hooks.deploy);
  const masked = maskOf(hiddenValues(stack, machine));
  const mark = `${markOf(id)} `;
  const bounded = openBounded(log, heard.said);
  const count = { at: '', lines: 0 };
  let isLate = false;

  const end = (type: Part, exit_code: number) => {
    if (ended.has(type)) return;
    ended.set(type, exit_code);
    command({ app: task.name, type, exit_code });
  };
  const obey = ([what, word]: string[]) => {
    bounded.catchUp();
    if (what === 'deploy') end('deploy', Number(word));
    if (what === 'begun') log(`  Executing ${hasHook ? 'deploy hook' : 'command'}`);
    if (what === 'deploy' && word === '0') log('  Executing command');
  };
  const isNew = (at: string) => {
    Object.assign(count, { at, lines: count.at === at ? count.lines + 1 : 1 });
    return at > heard.at || (at === heard.at && count.lines > heard.lines);
  };

  return {
    /** Takes all lines of the container from the beginning, and skips those that were heard before. */
    hear({ at: moment, stream, text }: LogLine) {
      const [said = '', words] = text.split(mark, 2);
      if (words === 'ended late') isLate = true;
      if (!isNew(moment.toISOString())) return;
      Object.assign(heard, count);
      if (words === undefined || said !== '') bounded.print(`    ${stream === 'stderr' ? 'W: ' : ''}${shownLine(masked(said))}`);
      if (words !== undefined) obey(words.split(' '));
      // Lines that are held back do not count as heard yet, so that they are read again after a kill.
      if (!bounded.holdsBack()) tell({ heard: { ...heard, said: bounded.said() } });
    },
    /** To be called once all lines are heard: tells which part ended with this code, and whether it had taken too long. */
    end(exitCode: number): { part: Part; is_late: boolean } {
      bounded.catchUp();
      const part = hasHook && ended.get('deploy') !== 0 ? 'deploy' : 'task';
      end(part, exitCode);
      return { part, is_late: isLate };
    },
  };
}

/** A hook of nothing but spaces does not count as a hook. */
export const isThere = (hook: string | null): hook is string => hook !== null && hook.trim() !== '';
