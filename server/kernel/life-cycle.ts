/**
 * The life of a thing as one table. Each row is an event: what somebody asks for, what happens to the thing, or what only takes a look at it. Each row
 * says, for every state, which state follows, or `null` where the event cannot happen. Links, requests, activities and queries all read the same rows,
 * in TypeScript or in SQL, so that they cannot disagree; a row that forgets a state is a type error.
 */
import { sql, type RawBuilder } from 'kysely';

export type Row<State extends string> = Readonly<Record<State, State | null>> & {
  /** What a caller is told where the event cannot happen. */
  readonly otherwise?: string | ((state: State) => string);
};

/** The events whose rows have a sentence. */
type Told<Rows> = { [Event in keyof Rows]: Rows[Event] extends { otherwise: unknown } ? Event : never }[keyof Rows] & string;

export interface LifeCycle<State extends string, Rows> {
  readonly states: readonly State[];
  readonly events: readonly (keyof Rows & string)[];
  /** `null`: it cannot happen in this state. */
  after(state: State, event: keyof Rows & string): State | null;
  possible(state: State, event: keyof Rows & string): boolean;
  /** The states in which it can happen, such as for `status = any(…)`. */
  statesThat(event: keyof Rows & string): State[];
  /** What is said in this state, in which the event cannot happen. */
  otherwise(state: State, event: Told<Rows>): string;
  /** `possible`, as a condition on the column that holds the state. Literals, so that partial indexes on a state are found. */
  sqlPossible(column: string, event: keyof Rows & string): RawBuilder<boolean>;
  /** `after`, of the state that the column holds; `null` where the event cannot happen, so write `sqlPossible` beside it. */
  sqlAfter(column: string, event: keyof Rows & string): RawBuilder<State>;
}

export function lifeCycle<const State extends string, const Rows extends Record<string, Row<State>>>(
  states: readonly State[],
  rows: Rows,
): LifeCycle<State, Rows> {
  const rowOf = (event: string): Row<State> => {
    const row = rows[event];
    if (!row) throw new Error(`The life cycle has no event ${event}`);
    return row;
  };
  const after = (state: State, event: string): State | null => rowOf(event)[state] ?? null;
  const statesThat = (event: string) => states.filter((state) => after(state, event) !== null);
  for (const event of Object.keys(rows)) if (statesThat(event).length === 0) throw new Error(`${event} can happen in no state`);
  return {
    states,
    events: Object.keys(rows),
    after,
    statesThat,
    possible: (state, event) => after(state, event) !== null,
    otherwise: (state, event) => {
      const { otherwise = '' } = rowOf(event);
      return typeof otherwise === 'string' ? otherwise : otherwise(state);
    },
    sqlPossible: (column, event) => sql<boolean>`(${sql.ref(column)} in (${sql.join(statesThat(event).map((state) => sql.lit(state)))}))`,
    sqlAfter: (column, event) => {
      const cases = statesThat(event).map((state) => sql`when ${sql.lit(state)} then ${sql.lit(after(state, event))}`);
      return sql<State>`(case ${sql.ref(column)} ${sql.join(cases, sql` `)} end)`;
    },
  };
}

/** The states of a life cycle, and its events, as types. */
export type StateOf<Life extends { states: readonly string[] }> = Life['states'][number];
export type EventOf<Life extends { events: readonly string[] }> = Life['events'][number];
