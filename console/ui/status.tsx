/** How something is: always a glyph, a word and a colour, never the colour alone. */
import type { ReactNode } from 'react';

export type Standing = 'active' | 'building' | 'sleeping' | 'paused' | 'failed' | 'inactive';

const glyphs: Record<Standing | 'done', ReactNode> = {
  active: <path d="M.8 11.200C.4 5 4.200.8 11.400.6c.2 7-3.600 11-9 10.400z" />,
  building: (
    <>
      <circle cx="6" cy="6" r="4.700" fill="none" stroke="currentColor" strokeWidth="1.800" opacity=".28" />
      <path
        className="turns"
        d="M6 1.300A4.700 4.700 0 0 1 10.700 6"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.800"
        strokeLinecap="round"
      />
    </>
  ),
  done: (
    <path d="m1.500 6.500 3 3 6-7" fill="none" stroke="currentColor" strokeWidth="1.700" strokeLinecap="round" strokeLinejoin="round" />
  ),
  failed: (
    <>
      <path d="M6 .4 11.600 6 6 11.600.4 6z" />
      <path className="glyph-mark" d="M6 3.300v3M6 8.400v.1" fill="none" strokeWidth="1.500" strokeLinecap="round" />
    </>
  ),
  inactive: <circle cx="6" cy="6" r="4.200" fill="none" stroke="currentColor" strokeWidth="1.500" strokeDasharray="2.200 2.200" />,
  paused: (
    <>
      <rect x="2" y="1.500" width="3" height="9" rx="1" />
      <rect x="7" y="1.500" width="3" height="9" rx="1" />
    </>
  ),
  sleeping: (
    <>
      <path d="M.8 11.200C.4 5 4.200.8 11.400.6z" />
      <path d="M11.400.6c.2 7-3.600 11-9 10.400L.8 11.200z" fill="none" stroke="currentColor" strokeWidth="1.200" strokeLinejoin="round" />
    </>
  ),
};

export const Glyph = ({ of }: { of: Standing | 'done' }) => (
  <svg className={`glyph is-${of === 'done' ? 'active' : of}`} viewBox="0 0 12 12" aria-hidden="true">
    {glyphs[of]}
  </svg>
);

export const Badge = ({ of, children }: { of: Standing; children: ReactNode }) => (
  <span className={`badge is-${of}`}>
    <Glyph of={of} />
    {children}
  </span>
);
