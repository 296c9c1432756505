/** A dialog: the browser's own, which keeps the focus inside and closes with Escape. */
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Icon } from './icon.tsx';

interface DialogProps {
  title: ReactNode;
  /** With room for a drawing. */
  isWide?: boolean;
  onClose(): void;
  children: ReactNode;
}

export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog className={isWide ? 'dialog wide' : 'dialog'} ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <div className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" className="icon-button tiny push" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </div>
      {children}
    </dialog>
  );
}
