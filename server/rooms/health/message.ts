/** What receivers are told of an alert, in words and as data. */
import { titleOf } from './checks/checks.ts';
import type { Severity } from './judge.ts';

export type HealthEvent = 'opened' | 'worsened' | 'ended';

/** An alert with all that a message tells of it. Times are as the database has them. */
export interface ToldAlert {
  id: string;
  project_id: string;
  project_title: string;
  organization_id: string;
  environment_id: string;
  /** Null: the environment is gone. */
  environment_title: string | null;
  check_name: string;
  subject: string;
  severity: Severity;
  text: string;
  value: number;
  opened_at: string;
  ended_at: string | null;
  is_unwatched: boolean;
}

export interface HealthMessage {
  event: HealthEvent;
  alert: {
    id: string;
    check: string;
    severity: Severity;
    title: string;
    text: string;
    /** The app, service or name that it is about; null: the environment as a whole. */
    subject: string | null;
    value: number;
    opened_at: string;
    ended_at: string | null;
  };
  project: { id: string; title: string };
  environment: { id: string; title: string };
}

export const messageOf = (event: HealthEvent, alert: ToldAlert): HealthMessage => ({
  event,
  alert: {
    id: alert.id,
    check: alert.check_name,
    severity: alert.severity,
    title: titleOf(alert.check_name, alert.subject),
    text: event === 'ended' ? endingOf(alert) : alert.text,
    subject: alert.subject === '' ? null : alert.subject,
    value: alert.value,
    opened_at: alert.opened_at,
    ended_at: alert.ended_at,
  },
  project: { id: alert.project_id, title: alert.project_title },
  environment: { id: alert.environment_id, title: alert.environment_title ?? alert.environment_id },
});

const endingOf = ({ is_unwatched, text }: ToldAlert) =>
  is_unwatched
    ? 'The environment is not watched any more: it was paused or deleted, or is not production any more.'
    : `This is over. It was: ${text}`;

const headingCharactersMax = 300;

/** One line, whatever people called their project. */
export function headingOf({ event, alert, project, environment }: HealthMessage): string {
  const urgency = event === 'ended' ? 'Resolved' : { warning: 'Warning', critical: 'Critical' }[alert.severity];
  const line = `${urgency}: ${alert.title} (${project.title}, ${environment.id})`;
  return line.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, headingCharactersMax);
}

/** Where it is, and since when, in lines for people. */
export const detailsOf = ({ event, alert, project, environment }: HealthMessage): [string, string][] => [
  ['Project', `${project.title} (${project.id})`],
  ['Environment', environment.title === environment.id ? environment.id : `${environment.title} (${environment.id})`],
  ['Since', alert.opened_at],
  ...(event === 'ended' && alert.ended_at !== null ? [['Until', alert.ended_at] satisfies [string, string]] : []),
];
