/** Whether apps and services keep running, and whether visitors get answers. */
import { incidentSeconds, measuredSeconds, type Incident } from '../sources.ts';
import { check, type Reading, type Thresholds } from './check.ts';

const inMinutes = (seconds: number) => `${seconds / 60} minutes`;

const ofKind = (kind: Incident['kind'], text: (incident: Incident) => string, thresholds: Thresholds) => (incidents: readonly Incident[]) =>
  incidents
    .filter((incident) => incident.kind === kind)
    .map((incident): Reading => ({ subject: incident.service, value: incident.count, text: text(incident), thresholds }));

const times = (count: number) => (count === 1 ? 'once' : `${count} times`);

export const restarts = check({
  source: 'incidents',
  title: (service) => `${service} does not keep running`,
  quietSeconds: 600,
  read: ofKind(
    'restart',
    ({ service, count }) =>
      `${service} ended and was started again ${times(count)} within ${inMinutes(incidentSeconds)}. Its log tells why (upsun log).`,
    { warning: 3, critical: 10, recovery: 1 },
  ),
});

export const outOfMemory = check({
  source: 'incidents',
  title: (service) => `${service} ran out of memory`,
  quietSeconds: 900,
  read: ofKind(
    'out of memory',
    ({ service, count }) =>
      `Processes of ${service} were killed ${times(count)} within ${inMinutes(incidentSeconds)}, because it had used all of its memory. Give it more (upsun resources:set).`,
    { warning: 1, critical: 3, recovery: 1 },
  ),
});

export const start = check({
  source: 'start',
  title: () => 'The environment does not start',
  quietSeconds: 120,
  read: ({ failure }) =>
    failure === null ? [] : [{ subject: '', value: 1, text: failure, thresholds: { warning: 1, critical: 1, recovery: 1 } }],
});

/** Fewer failures than this say nothing about a site. */
const failuresMin = 5;

export const errors = check({
  source: 'traffic',
  title: () => 'The site answers with errors',
  quietSeconds: 600,
  read: ({ timeline }) => {
    const count = timeline.reduce((sum, point) => sum + point.count, 0);
    const failed = timeline.reduce((sum, { codes }) => sum + (codes['5'] ?? 0), 0);
    if (failed < failuresMin) return [];
    const text = `${failed} of ${count} requests of the last ${inMinutes(measuredSeconds)} were answered with a status of 500 or above.`;
    return [{ subject: '', value: (failed / count) * 100, text, thresholds: { warning: 5, critical: 25, recovery: 2 } }];
  },
});
