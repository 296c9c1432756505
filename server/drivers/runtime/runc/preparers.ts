/**
 * The processes that prepare containers and become their monitors, as prepare.pl and launch.sh say. While there are containers, one more is started
 * ahead, when nobody waits for it: to begin, and to be moved out of the platform's control group, takes it longer than what it has to do. It waits at
 * its input and ends with it, also when the platform is killed.
 */
import { join } from 'node:path';
import { joinMonitors } from './cgroups.ts';
import type { Programs, Started } from './processes.ts';

const program = join(import.meta.dirname, 'prepare.pl');
/** Until whoever waited for the last container has gone on, and that has begun. */
const pauseMilliseconds = 100;

export interface Preparer extends Started {
  /** Fulfilled once what it starts stays when the platform's service is stopped. */
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

  /** For one container. */
  take(): Preparer {
    clearTimeout(this.#timer);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (!ahead?.alive()) return this.#start();
    // Where it is already. The first move in a while waits for all processors, others soon after do not: the one that runc is about to make.
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
    // Whoever takes it hears of it; perhaps nobody does.
    joined.catch(() => {});
    return { ...started, joined };
  }
}
