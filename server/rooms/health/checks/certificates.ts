/** Certificates that end, are not renewed, or cannot be had. What the installation has for itself is its operator's matter. */
import type { ServedCertificate } from '../sources.ts';
import { check } from './check.ts';

const inDays = (days: number) => (days < 0 ? 'has ended' : days < 1 ? 'ends within a day' : `ends in ${Math.floor(days)} days`);
const nameOf = (names: readonly string[]) => names[0] ?? '';
const because = (trouble: string | null) => (trouble === null ? '' : ` ${trouble}`);
const isGiven = ({ is_automatic }: ServedCertificate) => !is_automatic;

/** Those that people gave, which nobody renews for them. The value is how many days ago it ended, so those of one that is still good are negative. */
export const certificateEnd = check({
  source: 'certificates',
  title: (name) => `The certificate for ${name} ends soon`,
  quietSeconds: 0,
  read: (all) =>
    all.filter(isGiven).map(({ serves, days_left }) => ({
      subject: nameOf(serves),
      value: -days_left,
      text: `The certificate for ${serves.join(', ')} ${inDays(days_left)}. Add a new one (upsun certificate:add).`,
      thresholds: { warning: -14, critical: -3, recovery: -14 },
    })),
});

export const certificateRenewal = check({
  source: 'certificates',
  title: (name) => `The certificate for ${name} is not renewed`,
  quietSeconds: 0,
  read: (all) =>
    all.flatMap(({ serves, is_automatic, days_left, overdue_percent, trouble }) =>
      is_automatic && overdue_percent !== null
        ? [
            {
              subject: nameOf(serves),
              value: overdue_percent,
              text: `The certificate for ${serves.join(', ')} ${inDays(days_left)}, and could not be renewed so far.${because(trouble)}`,
              thresholds: { warning: 33, critical: 75, recovery: 33 },
            },
          ]
        : [],
    ),
});

export const certificateRefusal = check({
  source: 'refusals',
  title: (name) => `There is no certificate for ${name}`,
  quietSeconds: 0,
  read: (all) =>
    all.map(({ names, refusals, trouble }) => ({
      subject: nameOf(names),
      value: refusals,
      text: `A certificate for ${names.join(', ')} was refused ${refusals} times in a row.${because(trouble)}`,
      thresholds: { warning: 3, critical: 6, recovery: 1 },
    })),
});
