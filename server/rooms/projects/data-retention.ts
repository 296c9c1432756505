/** Which backups a project keeps, for each type of environment: `settings.data_retention`. What it does not say is as usual. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { environmentTypes, type EnvironmentType } from '../../permissions.ts';

const countMax = 1000;
const rulesMax = 20;
const closed = { additionalProperties: false };
const Count = (description: string) => Type.Integer({ minimum: 1, maximum: countMax, description });

/** How many backups are kept at most, unless the project says otherwise. */
const maxBackupsUsual = 50;
const usual = {
  production: { manual_count: 4, schedule: [{ interval: '1d', count: 2 }] },
  staging: { manual_count: 2, schedule: [] },
  development: { manual_count: 2, schedule: [] },
} satisfies Record<EnvironmentType, Omit<RetentionPolicy, 'max_backups'>>;

const Rule = Type.Object(
  {
    interval: Type.String({
      pattern: '^[1-9][0-9]{0,3}[hdwMy]$',
      'x-message': 'must be a number followed by h, d, w, M or y, such as 1d',
      description:
        "A backup is made once in each interval. Hours are counted as they pass; days, weeks (from Monday), months and years are those of the project's time zone, and their backups are made in the first hours of the day.",
    }),
    count: Count('For how many intervals the first backup of each is kept.'),
  },
  closed,
);

const Retention = Type.Object(
  {
    max_backups: Type.Optional(
      Count(
        `How many backups are kept at most, automated and manual ones together; ${maxBackupsUsual} by default. Beyond it, a new backup takes the place of the oldest of its kind.`,
      ),
    ),
    default_config: Type.Optional(
      Type.Object(
        {
          manual_count: Type.Optional(
            Count(
              `How many manual backups are kept; by default ${usual.production.manual_count} in production and ${usual.staging.manual_count} elsewhere. A further one takes the place of the oldest, once it can be restored.`,
            ),
          ),
          schedule: Type.Optional(
            Type.Array(Rule, {
              maxItems: rulesMax,
              description:
                'When automated backups are made. By default, one is made each day in production, and the last two are kept; elsewhere none are made. With no rules, existing backups stay.',
            }),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);

export const DataRetention = Type.Object(Object.fromEntries(environmentTypes.map((type) => [type, Type.Optional(Retention)])), closed);

export interface RetentionPolicy {
  max_backups: number;
  manual_count: number;
  schedule: readonly Static<typeof Rule>[];
}

/** The complete policy for one type of environment. `setting` is what the project has stored, if anything. */
export function retentionFor(setting: unknown, type: EnvironmentType): RetentionPolicy {
  const given = Value.Check(DataRetention, setting) ? setting[type] : undefined;
  const said = Value.Check(Retention, given) ? given : undefined;
  return { max_backups: said?.max_backups ?? maxBackupsUsual, ...usual[type], ...said?.default_config };
}

/** What is stored after a change: what the change does not name stays. */
export function retentionAfter(setting: unknown, change: unknown): unknown {
  if (!Value.Check(DataRetention, setting) || !Value.Check(DataRetention, change)) return change;
  const types = environmentTypes.filter((type) => setting[type] !== undefined || change[type] !== undefined);
  return Object.fromEntries(types.map((type) => [type, mergedRetention(setting[type], change[type])]));
}

function mergedRetention(before: Static<typeof Retention> = {}, change: Static<typeof Retention> = {}): Static<typeof Retention> {
  return { ...before, ...change, default_config: { ...before.default_config, ...change.default_config } };
}

/** The setting as clients read it: complete policies, for those types of environments that were set. */
export function shownRetention(setting: unknown): unknown {
  if (!Value.Check(DataRetention, setting)) return null;
  const types = environmentTypes.filter((type) => setting[type] !== undefined);
  return Object.fromEntries(
    types.map((type) => {
      const { max_backups, ...default_config } = retentionFor(setting, type);
      return [type, { max_backups, default_config }];
    }),
  );
}
