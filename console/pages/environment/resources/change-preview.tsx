/** What a change of sizes does, before it is made: what is restarted, what it comes to, and how much of that is allowed. */
import type { Amounts, Preview } from '../../../api/size-queries.ts';
import { Icon, type IconName } from '../../../ui/icon.tsx';

export const ChangePreview = ({ preview }: { preview: Preview }) => (
  <section className="panel change-preview" aria-labelledby="preview" aria-live="polite">
    <h3 id="preview">What this does</h3>
    <ul className="happenings">
      {happeningsOf(preview).map(({ icon, what }) => (
        <li key={what}>
          <Icon name={icon} />
          {what}
        </li>
      ))}
    </ul>
    <Sums preview={preview} />
  </section>
);

interface Happening {
  icon: IconName;
  what: string;
}

function happeningsOf({ containers, interrupts, is_staged }: Preview): Happening[] {
  const each = containers.flatMap(({ name, before, after, effect }): Happening[] => {
    if (effect === 'start') return [{ icon: 'play', what: `${name} is started` }];
    const more = after.instance_count - (before?.instance_count ?? after.instance_count);
    return [
      ...(effect === 'restart' ? [{ icon: 'sync' as const, what: `${name} is stopped and started again with its new size` }] : []),
      ...(effect === 'resize' ? [noticed(`${name} gets its new size while it runs`)] : []),
      ...(more > 0 ? [noticed(`${name} gets ${counted(more)} more, beside those that run`)] : []),
      ...(more < 0 ? [noticed(`${name} loses ${counted(-more)}, after their last requests`)] : []),
      ...(before && after.disk !== before.disk ? [noticed(`the disk of ${name} grows to ${after.disk} MB; disks never shrink`)] : []),
    ];
  });
  return [
    ...each,
    interrupts
      ? { icon: 'warning', what: 'Visitors wait while something is away; no request is refused for it' }
      : { icon: 'check', what: 'No visitor notices' },
    ...(is_staged ? [{ icon: 'pause' as const, what: 'Deployments are manual here: it is staged until somebody deploys it' }] : []),
  ];
}

const noticed = (what: string): Happening => ({ icon: 'check', what });

const counted = (count: number) => (count === 1 ? 'one instance' : `${count} instances`);

const kinds: readonly (readonly [keyof Amounts, string, (amount: number) => string])[] = [
  ['cpu', 'CPU', (amount) => `${Math.round(amount * 100) / 100} CPU`],
  ['memory', 'Memory', (amount) => `${Math.round(amount)} MB`],
  ['disk', 'Disk', (amount) => `${Math.round(amount)} MB`],
];

const Sums = ({ preview: { before, after, limits } }: { preview: Preview }) => (
  <table className="table sums">
    <caption className="unseen">What the environment comes to</caption>
    <thead>
      <tr>
        <th scope="col">All together</th>
        <th scope="col" className="number">
          Now
        </th>
        <th scope="col" className="number">
          Then
        </th>
        <th scope="col">Allowed</th>
      </tr>
    </thead>
    <tbody>
      {kinds.map(([kind, name, words]) => (
        <tr key={kind}>
          <th scope="row">{name}</th>
          <td className="number">{words(before[kind])}</td>
          <td className={after[kind] === before[kind] ? 'number' : 'number strong'}>{words(after[kind])}</td>
          <td className="quiet small">{allowedWords(limits, kind, words)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

function allowedWords(limits: Preview['limits'], kind: keyof Amounts, words: (amount: number) => string): string {
  const set = limits.flatMap(({ of, name, allowed, used_by_others }) => {
    const most = allowed[kind];
    return most === null
      ? []
      : [`${words(most)} for the ${of} ${name}, of which its other environments have ${words(used_by_others[kind])}`];
  });
  return set.length === 0 ? 'as much as the machine has' : set.join('; ');
}
