/** Icons, drawn with the colour of the words beside them. They say nothing by themselves: what has only an icon has a label, too. */
import type { ReactNode } from 'react';

const shapes = {
  back: <path d="M10 3.500 5.500 8l4.500 4.500" />,
  backup: <path d="M2.5 5.5h11v7a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM2 2.500h12v3H2zM6.500 8.500h3" />,
  branch: (
    <>
      <path d="M4 14V2M4 10.500c0-3.200 2.300-4.500 5-4.500" />
      <path d="M8.500 6.300C8.500 3.600 10.600 2 14 2c0 3.300-2 5-5.500 4.300Z" />
    </>
  ),
  check: <path d="m3 8.500 3.500 3.500L13 4.500" />,
  chevron: <path d="m6 3.500 4.500 4.500L6 12.500" />,
  contrast: (
    <>
      <circle cx="8" cy="8" r="5.800" />
      <path d="M8 2.200a5.800 5.800 0 0 1 0 11.600z" fill="currentColor" />
    </>
  ),
  copy: (
    <>
      <rect x="5.500" y="5.500" width="8" height="8" rx="1.500" />
      <path d="M10.500 5.500V4A1.500 1.500 0 0 0 9 2.500H4A1.500 1.500 0 0 0 2.500 4v5A1.500 1.500 0 0 0 4 10.500h1.500" />
    </>
  ),
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  database: (
    <>
      <ellipse cx="8" cy="4" rx="5" ry="2" />
      <path d="M3 4v8c0 1.100 2.200 2 5 2s5-.9 5-2V4M3 8c0 1.100 2.200 2 5 2s5-.9 5-2" />
    </>
  ),
  filter: <path d="M2 4h12M4.500 8h7M6.500 12h3" />,
  globe: (
    <>
      <circle cx="8" cy="8" r="5.800" />
      <path d="M2.200 8h11.600M8 2.200c3 3.300 3 8.300 0 11.600M8 2.200c-3 3.300-3 8.300 0 11.600" />
    </>
  ),
  key: (
    <>
      <circle cx="5" cy="11" r="2.500" />
      <path d="M6.800 9.200 13.500 2.500M11 5l2 2" />
    </>
  ),
  merge: (
    <>
      <path d="M12 14V2M12 5.500C12 9 9.800 10 6.500 10H3" />
      <path d="m5.500 7.500-2.700 2.500 2.700 2.500" />
    </>
  ),
  more: <path d="M3.500 8h.01M8 8h.01M12.500 8h.01" strokeWidth="2.200" />,
  open: <path d="M6.500 3H4a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1V9.500M9.500 2.500h4v4M13 3 7.500 8.500" />,
  pause: <path d="M5.500 3v10M10.500 3v10" />,
  play: <path d="M5 3v10l8-5z" />,
  power: <path d="M8 2v5.500M4.500 4.200a5.500 5.500 0 1 0 7 0" />,
  rollback: <path d="M3 3v3.500h3.500M3.300 6.300A5.500 5.500 0 1 1 2.500 9" />,
  search: (
    <>
      <circle cx="7" cy="7" r="4.500" />
      <path d="m10.500 10.500 3.500 3.500" />
    </>
  ),
  sync: (
    <>
      <path d="M13.500 6.500A5.700 5.700 0 0 0 3 5.500M2.500 9.500A5.700 5.700 0 0 0 13 10.500" />
      <path d="M2.800 2.500v3h3M13.200 13.500v-3h-3" />
    </>
  ),
  warning: (
    <>
      <path d="M8 2.500 14.300 13.500H1.700z" />
      <path d="M8 6.500v3.200M8 11.700v.01" />
    </>
  ),
  window: <path d="M2.500 3.500h11v9h-11zM2.500 6.500h11" />,
  worker: <path d="M3 13V8M8 13V3M13 13V6" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

export const Icon = ({ name, className = '' }: { name: IconName; className?: string }) => (
  <svg className={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true">
    {shapes[name]}
  </svg>
);

export const Brand = () => (
  <svg viewBox="0 0 24 24" aria-hidden="true" fill="none">
    <path d="M7 22V2.500" stroke="currentColor" strokeWidth="2.600" strokeLinecap="round" />
    <path d="M7.300 17.500C6.600 10 11.300 5.600 20 5.500c.3 8.300-4.300 12.600-12.700 12z" fill="currentColor" />
  </svg>
);
