/** What went wrong, in the words of whoever said it, where the content would be. */
import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';

export const FailureNotice = ({ children }: { children: ReactNode }) => (
  <div className="notice is-failed" role="alert">
    <Icon name="warning" />
    <div>{children}</div>
  </div>
);

export const FieldError = ({ id, children }: { id?: string; children: ReactNode }) => (
  <p className="field-error" id={id} role="alert">
    <Icon name="warning" />
    <span>{children}</span>
  </p>
);

/** Blank bars of the height that the content will have; they show only after a moment, so that what is quick does not flicker. */
export const Bones = ({ rows, height }: { rows: number; height: number }) => (
  <div className="bones late" aria-hidden="true">
    {Array.from({ length: rows }, (_, n) => (
      <span key={n} style={{ height }} />
    ))}
  </div>
);
