/** One look with a regular expression: where it is, what it caught, and what it may still spend. */

/** Thrown when the steps are used up. */
export const outOfSteps = new Error('The expression takes too many steps');

export interface StepBudget {
  left: number;
}

export interface Run {
  input: string;
  budget: StepBudget;
  /** How many parts are under way within each other. */
  depth: number;
  openings: Int32Array;
  starts: Int32Array;
  ends: Int32Array;
  /** For each loop: how often it went round, and where its last round began. */
  counts: Int32Array;
  lasts: Int32Array;
  /** Where a lookbehind must end. */
  target: number;
}
/** Given a position, answers where the whole match ends; -1: there is none. */
export type Part = (run: Run, at: number) => number;

export function spend({ budget }: Run, steps: number) {
  budget.left -= steps;
  if (budget.left < 0) throw outOfSteps;
}
