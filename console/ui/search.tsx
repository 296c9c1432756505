/** The way to everything by its name: a button in the bar, and Ctrl-K. What it needs is loaded when it is opened for the first time. */
import { lazy, Suspense, useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

const Palette = lazy(() => import('../palette/palette.tsx').then((module) => ({ default: module.Palette })));

export function Search() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" className="search-button" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <Icon name="search" className="small" />
        <span>Go to</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      {isOpen && (
        <Suspense>
          <Palette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
