/** A few choices side by side, each of which is an address. */
import type { ReactNode } from 'react';

export const Segments = ({ label, children }: { label: string; children: ReactNode }) => (
  <nav className="segments" aria-label={label}>
    {children}
  </nav>
);
