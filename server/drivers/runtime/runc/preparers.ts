/**
 * The processes that prepare containers and become their monitors, as prepare.pl and launch.sh say. While there are containers, one more is started
 * ahead, when nobody waits for it: to begin, and to be moved out of the platform's control group, takes it longer than what it has to do. It waits at
 * its input and ends with it, also when the platform is killed.
 */
import { join } from 'node:path';
import { joinMonitors } from './cgroups.ts';
import type { Programs, Started } from './processes.ts';

const program = join(import.meta.dirname, 'prepare.pl');
/** Time for whoever waited for the last container to go on, and for that container to begin. */
const pauseMilliseconds = 100;

export interface Preparer extends Started {
  /** Fulfilled once what the preparer starts outlives the platform's service. */
  joined: Promise<void>;
}

export class Preparers {
  #programs: Programs;
  #cgroup: string;
  #ahead: Preparer | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(programs: Programs, cgroup: string) {
    this.#programs = programs;
    this.#cgroup = cgroup;
  }

  startAhead() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (!this.#ahead?.alive()) this.#ahead = this.#start();
    }, pauseMilliseconds).unref();
  }

  /** Takes the preparer that is ready, for one container. */
  take(): Preparer {
    clearTimeout(this.#timer);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (!ahead?.alive()) return this.#start();
    // Moves the preparer to where it is already. The first move in a while waits for all processors; another one soon after, such as runc's, does not.
    joinMonitors(this.#cgroup, ahead.pid).catch(() => {});
    return ahead;
  }

  async close() {
    clearTimeout(this.#timer);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    await ahead?.tell('').catch(() => {});
  }

  #start(): Preparer {
    const started = this.#programs.start('perl', [program, process.arch]);
    const joined = joinMonitors(this.#cgroup, started.pid);
    // Whoever takes the preparer hears of a failure; perhaps nobody does.
    joined.catch(() => {});
    return { ...started, joined };
  }
}
