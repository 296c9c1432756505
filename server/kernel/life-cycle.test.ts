import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder } from 'kysely';
import { describe, expect, test } from 'vitest';
import { lifeCycle, type StateOf } from './life-cycle.ts';

const door = lifeCycle(['open', 'shut', 'locked'], {
  close: { open: 'shut', shut: null, locked: null, otherwise: 'Only an open door can be closed.' },
  lock: {
    open: null,
    shut: 'locked',
    locked: null,
    otherwise: (state) => `Only a door that is shut can be locked, and this one is ${state}.`,
  },
  /** Whatever the door was, it is the same afterwards. */
  paint: { open: 'open', shut: 'shut', locked: null },
});

const compiler = new Kysely({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
const sqlOf = (part: RawBuilder<unknown>) => part.compile(compiler).sql;

describe('a life cycle', () => {
  test('tells the state that follows, and where an event cannot happen', () => {
    expect(door.after('open', 'close')).toBe('shut');
    expect(door.after('shut', 'close')).toBeNull();
    expect([door.possible('shut', 'lock'), door.possible('open', 'lock')]).toEqual([true, false]);
    expect(door.statesThat('paint')).toEqual(['open', 'shut']);
    expect([door.states, door.events]).toEqual([
      ['open', 'shut', 'locked'],
      ['close', 'lock', 'paint'],
    ]);
  });

  test('has a sentence for what cannot be asked for, which may tell the state', () => {
    expect(door.otherwise('shut', 'close')).toBe('Only an open door can be closed.');
    expect(door.otherwise('open', 'lock')).toBe('Only a door that is shut can be locked, and this one is open.');
    // @ts-expect-error -- nothing is said about painting
    expect(door.otherwise('locked', 'paint')).toBe('');
  });

  test('says the same in SQL, with literals that partial indexes are found by', () => {
    expect(sqlOf(door.sqlPossible('doors.state', 'paint'))).toBe(`("doors"."state" in ('open', 'shut'))`);
    expect(sqlOf(door.sqlAfter('state', 'paint'))).toBe(`(case "state" when 'open' then 'open' when 'shut' then 'shut' end)`);
  });

  test('takes no state that it does not know, and no row that forgets one', () => {
    const state: StateOf<typeof door> = 'open';
    expect(door.possible(state, 'close')).toBe(true);
    // @ts-expect-error -- there is no such state
    expect(door.possible('ajar', 'close')).toBe(false);
    // @ts-expect-error -- what follows when it is locked is missing
    lifeCycle(['open', 'locked'], { close: { open: 'locked' } });
    // @ts-expect-error -- what follows is no state
    lifeCycle(['open', 'locked'], { close: { open: 'ajar', locked: null } });
  });

  test('has no event that can never happen', () => {
    expect(() => lifeCycle(['open'], { vanish: { open: null } })).toThrow('vanish can happen in no state');
  });
});
