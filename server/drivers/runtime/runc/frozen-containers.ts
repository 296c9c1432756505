/**
 * Containers that stand still, no longer than this process lives: a small one of its own (thaw.pl) hears of each before it is frozen, waits at its input, and
 * when that ends, because we were killed, thaws what we have not. It is there while something is frozen, one for all of it.
 */
import { join } from 'node:path';
import { freeze, freezer, joinMonitors, thaw } from './cgroups.ts';
import type { Programs, Started } from './processes.ts';

const program = join(import.meta.dirname, 'thaw.pl');

interface Guard extends Started {
  /** Fulfilled once the guard is out of the control groups that systemd empties when it stops a service. */
  joined: Promise<void>;
}

export class FrozenContainers {
  readonly #programs: Programs;
  readonly #monitors: string;
  readonly #cgroups = new Set<string>();
  #guard: Guard | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(programs: Programs, monitors: string) {
    this.#programs = programs;
    this.#monitors = monitors;
  }

  /** Containers that are asked for together are frozen together: whatever takes time is done before. */
  async freeze(cgroup: string) {
    this.#cgroups.add(cgroup);
    try {
      const guard = this.#guard?.alive() ? this.#guard : this.#start(freezer(cgroup).thawed);
      await Promise.all([guard.joined, guard.write(wordOf('frozen', cgroup))]);
      freeze(cgroup);
    } catch (error) {
      this.thaw(cgroup);
      throw error;
    }
  }

  /** Thaws the control group, whoever froze it. */
  thaw(cgroup: string) {
    thaw(cgroup);
    if (!this.#cgroups.delete(cgroup)) return;
    this.#guard?.write(wordOf('thawed', cgroup)).catch(() => {});
    if (this.#cgroups.size === 0) this.#end();
  }

  /** Thaws what is still frozen. */
  async close() {
    this.#end();
    this.#cgroups.clear();
    await this.#ended;
  }

  /** Starts a guard: somebody may have killed the previous one. */
  #start(thawed: string): Guard {
    const started = this.#programs.startApart('perl', [program, thawed]);
    const joined = joinMonitors(this.#monitors, started.pid);
    // Where the machine does not allow the move, the guard still thaws, unless it is killed together with us.
    this.#guard = { ...started, joined: joined.catch(() => {}) };
    for (const cgroup of this.#cgroups) started.write(wordOf('frozen', cgroup)).catch(() => {});
    return this.#guard;
  }

  #end() {
    const guard = this.#guard;
    this.#guard = undefined;
    if (guard) this.#ended = Promise.all([this.#ended, guard.tell('').catch(() => {})]);
  }
}

const wordOf = (state: 'frozen' | 'thawed', cgroup: string) => `${state} ${freezer(cgroup).file}\n`;
