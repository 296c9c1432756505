/** The list of activities, of a project or an environment: filters and paging as clients ask for them. */
import { Type, type Static } from 'typebox';
import { activityLife } from '../../kernel/activity-life-cycle.ts';
import { invalidField } from '../../kernel/problem.ts';
import type { Db } from '../../kernel/sql.ts';
import { environmentTypes } from '../../permissions.ts';
import type { Caller } from '../../platform.ts';
import { activityResults } from './activity.ts';
import type { ListedActivity } from './listed-activity.ts';
import { activitiesWith } from './queries.ts';

const countDefault = 25;
const countMax = 100;
const valuesMax = 100;

const Several = (values?: readonly string[]) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 64, ...(values && { enum: [...values] }) }), { maxItems: valuesMax }));

export const ActivityQuery = Type.Object({
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: countDefault,
      description: `At most ${countMax} are listed at once; ask for older ones with starts_at.`,
    }),
  ),
  type: Several(),
  state: Several(activityLife.states),
  result: Several(activityResults),
  starts_at: Type.Optional(Type.String({ maxLength: 40, description: 'Only those created at this moment or before.' })),
});

export interface ActivitiesOf {
  id: string;
  organization_id: string;
  environment?: string;
  integration?: string;
}

/** Lists activities of a project, an environment or an integration, without those that concern environments which the caller may not see. */
export const listActivities = (
  db: Db,
  { id, organization_id, environment, integration }: ActivitiesOf,
  query: Static<typeof ActivityQuery>,
  caller: Caller,
): Promise<ListedActivity[]> => {
  const { type, state, result } = query;
  const scope = { project: id, organization: organization_id };
  return activitiesWith(db, {
    project_id: id,
    organization_id,
    ...(environment !== undefined && { environment }),
    ...(integration !== undefined && { integration }),
    visible: environmentTypes.filter((environmentType) => caller.can('environment:view', { ...scope, environmentType })),
    types: type,
    states: state,
    results: result,
    until: untilOf(query),
    count: countOf(query),
  });
};

export const countOf = ({ count = countDefault }: Static<typeof ActivityQuery>): number => Math.min(count, countMax);

/** Throws a Problem where it is no moment. */
export const untilOf = ({ starts_at }: Static<typeof ActivityQuery>): string | undefined =>
  starts_at === undefined ? undefined : momentOf(starts_at);

const momentPattern = /^(?<date>\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4]):?[0-5]\d)$/;

/** Clients send the plus sign of the offset unescaped, so it arrives as a space. */
function momentOf(text: string): string {
  const moment = text.replace(' ', '+');
  const date = momentPattern.exec(moment)?.groups?.['date'];
  if (date === undefined || !isDate(date)) throw invalidField('starts_at', 'must be a date such as 2026-01-31T12:00:00Z');
  return moment;
}

/** Whether the calendar has this date (JavaScript reads February 30 as March 2), and no time offset moves it out of the range of PostgreSQL. */
function isDate(date: string) {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date) && date >= '1970' && date < '9999';
}
