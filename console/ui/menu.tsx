/** A menu: native details, closed by Escape, by a click elsewhere, and by choosing something in it. */
import { type ReactNode, useEffect, useRef, useState } from 'react';

interface Menu {
  label: string;
  /** What the menu is opened by. */
  handle: ReactNode;
  handleClass: string;
  children: ReactNode;
  /** Menus of settings stay open while one tries them. */
  staysOpen?: boolean;
}

export function Menu({ label, handle, handleClass, children, staysOpen = false }: Menu) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  // A page may have hundreds of menus: those that are closed listen to nothing, and have nothing in them.
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = () => {
      if (details.current) details.current.open = false;
    };
    const onClick = ({ target }: MouseEvent) => {
      const isInside = target instanceof Element && details.current?.contains(target);
      const isChosen = isInside && !staysOpen && target.closest('.menu-list a, .menu-list button');
      if (!isInside || isChosen) close();
    };
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || !details.current?.open) return;
      close();
      details.current.querySelector('summary')?.focus();
    };
    addEventListener('click', onClick);
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('click', onClick);
      removeEventListener('keydown', onKey);
    };
  }, [isOpen, staysOpen]);
  return (
    <details className="menu" ref={details} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className={handleClass} aria-label={label} title={label}>
        {handle}
      </summary>
      {isOpen && <ul className="menu-list">{children}</ul>}
    </details>
  );
}
