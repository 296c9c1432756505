/**
 * The life of a backup. It is told by three columns of its row, which other installations and indexes know as they are; what each state is in these columns
 * stands below the table, and what follows is derived from both, in TypeScript and in SQL.
 */
import { sql, type RawBuilder } from 'kysely';
import { lifeCycle, type EventOf } from '../../kernel/life-cycle.ts';

const states = ['making', 'restorable', 'damaged', 'deleting', 'deletingDamaged', 'abandoned'] as const;
export type BackupState = (typeof states)[number];

const sentences = {
  delete: 'A backup that is being made, deleted or restored cannot be deleted; cancel its activity, or wait for its end.',
  restore: 'Only a backup that is complete, and that nobody deletes, can be restored.',
  restoreDamaged: 'The backup {id} was found damaged where it is stored, so it cannot be restored; restore another one.',
};

export const backupLife = lifeCycle(states, {
  /* How making a backup ends: all of it was read back from the store, it was given up, or nobody works on it any more. */
  finish: { making: 'restorable', restorable: null, damaged: null, deleting: null, deletingDamaged: null, abandoned: null },
  giveUp: {
    making: 'abandoned',
    restorable: 'abandoned',
    damaged: 'abandoned',
    deleting: 'abandoned',
    deletingDamaged: 'abandoned',
    abandoned: 'abandoned',
  },
  beForgotten: { making: 'abandoned', restorable: null, damaged: null, deleting: null, deletingDamaged: null, abandoned: null },

  /* What is found when a backup is looked at. */
  findDamaged: { making: null, restorable: 'damaged', damaged: null, deleting: null, deletingDamaged: null, abandoned: null },
  findWhole: { making: null, restorable: null, damaged: 'restorable', deleting: null, deletingDamaged: null, abandoned: null },

  /* What people ask for. Where deleting a backup failed, it can be asked for again. */
  delete: {
    making: null,
    restorable: 'deleting',
    damaged: 'deletingDamaged',
    deleting: 'deleting',
    deletingDamaged: 'deletingDamaged',
    abandoned: null,
    otherwise: sentences.delete,
  },
  restore: {
    making: null,
    restorable: 'restorable',
    damaged: null,
    deleting: null,
    deletingDamaged: null,
    abandoned: null,
    otherwise: (state) => (state === 'damaged' || state === 'deletingDamaged' ? sentences.restoreDamaged : sentences.restore),
  },

  /* How a backup goes: nobody keeps it any more; its deletion was cancelled before it began; nothing is left of it. */
  letGo: { making: null, restorable: 'deleting', damaged: 'deletingDamaged', deleting: null, deletingDamaged: null, abandoned: null },
  spare: { making: null, restorable: null, damaged: null, deleting: 'restorable', deletingDamaged: 'damaged', abandoned: null },
  remove: {
    making: null,
    restorable: null,
    damaged: null,
    deleting: 'deleting',
    deletingDamaged: 'deletingDamaged',
    abandoned: 'abandoned',
  },

  /* What is done with a backup, and leaves its state as it is. */
  list: {
    making: 'making',
    restorable: 'restorable',
    damaged: 'damaged',
    deleting: 'deleting',
    deletingDamaged: 'deletingDamaged',
    abandoned: null,
  },
  /** The backup should be in the store, and outlives its environment for a while. */
  keep: { making: null, restorable: 'restorable', damaged: 'damaged', deleting: null, deletingDamaged: null, abandoned: null },
  /** Nobody has given the backup up, so its repository stays. */
  want: { making: 'making', restorable: 'restorable', damaged: 'damaged', deleting: null, deletingDamaged: null, abandoned: null },
  /** A backup that is being deleted can be exported as long as all of it is there. */
  export: { making: null, restorable: 'restorable', damaged: null, deleting: 'deleting', deletingDamaged: null, abandoned: null },
  /** The backup may be found whole again. */
  review: { making: null, restorable: null, damaged: 'damaged', deleting: null, deletingDamaged: null, abandoned: null },
});

export type BackupEvent = EventOf<typeof backupLife>;

interface Columns {
  status: 'CREATED' | 'DELETING' | 'ABANDONED';
  restorable: boolean;
  /** Absent where damage does not matter, and stays as it was. */
  isDamaged?: boolean;
}

const columnsOf: Record<BackupState, Columns> = {
  making: { status: 'CREATED', restorable: false, isDamaged: false },
  restorable: { status: 'CREATED', restorable: true, isDamaged: false },
  damaged: { status: 'CREATED', restorable: false, isDamaged: true },
  deleting: { status: 'DELETING', restorable: true, isDamaged: false },
  deletingDamaged: { status: 'DELETING', restorable: false, isDamaged: true },
  abandoned: { status: 'ABANDONED', restorable: false },
};

/** The status of a backup in the API. */
export const statusOf = (state: BackupState) => columnsOf[state].status as 'CREATED' | 'DELETING';

/** Compares only the columns that tell the state from others of the same status, so that the planner finds the partial indexes and can read from them alone. */
function sqlIn(state: BackupState, table: string): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  const { status, restorable, isDamaged } = columnsOf[state];
  const damage = isDamaged ? sql`${column('damaged_at')} is not null` : sql`${column('damaged_at')} is null`;
  const beside = {
    CREATED: restorable ? [column('restorable')] : [sql`not ${column('restorable')}`, damage],
    DELETING: [damage],
    ABANDONED: [],
  };
  return sql.join([sql`${column('status')} = ${sql.lit(status)}`, ...beside[status]], sql` and `);
}

/** The condition for rows in which the event can happen. `table` is `backups`, or its alias in the query. */
export const backupsThat = (event: BackupEvent, table = 'backups'): RawBuilder<boolean> =>
  sql`(${sql.join(
    backupLife.statesThat(event).map((state) => sql`(${sqlIn(state, table)})`),
    sql` or `,
  )})`;

export const backupState = sql<BackupState>`(case ${sql.join(
  states.map((state) => sql`when ${sqlIn(state, 'backups')} then ${sql.lit(state)}`),
  sql` `,
)} end)`;

/** What `update backups set` writes for the event. Each column gets the same value, whatever the state was before. */
export function becoming(event: BackupEvent): RawBuilder<unknown> {
  const changes = backupLife
    .statesThat(event)
    .map((state) => [columnsOf[state], columnsOf[backupLife.after(state, event) ?? state]] as const);
  const changed = <Key extends keyof Columns>(key: Key) => {
    const values = new Set(changes.filter(([before, after]) => key in after && before[key] !== after[key]).map(([, after]) => after[key]));
    if (values.size > 1) throw new Error(`${event} would leave backups with several values of ${key}`);
    return values.values().next().value;
  };
  const [status, restorable, isDamaged] = [changed('status'), changed('restorable'), changed('isDamaged')];
  return sql`updated_at = clock_timestamp()
    ${status === undefined ? sql`` : sql`, status = ${sql.lit(status)}`}
    ${restorable === undefined ? sql`` : sql`, restorable = ${sql.lit(restorable)}`}
    ${isDamaged === undefined ? sql`` : sql`, damaged_at = ${isDamaged ? sql`now()` : sql`null`}`}`;
}
