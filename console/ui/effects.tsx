/** What a deed does, told before it is done: what is lost, and what stays. */
import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

export interface Effect {
  kind: 'lost' | 'kept';
  what: ReactNode;
  more?: ReactNode;
}

export const Effects = ({ effects }: { effects: readonly Effect[] }) => (
  <ul className="losses">
    {effects.map(({ kind, what, more }, n) => (
      <li key={n} className={kind}>
        <Icon name={kind === 'lost' ? 'warning' : 'check'} />
        <div>
          {what}
          {more !== undefined && <p className="quiet small">{more}</p>}
        </div>
      </li>
    ))}
  </ul>
);

export const isLosing = (effects: readonly Effect[]) => effects.some(({ kind }) => kind === 'lost');
