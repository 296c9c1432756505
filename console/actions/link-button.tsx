/** A button for one link of a resource: there when the link is, and its form in a dialog. */
import { useState } from 'react';
import { linkOf, type Resource } from '../api/link.ts';
import { Dialog } from '../ui/dialog.tsx';
import { LinkForm } from './link-form.tsx';

interface LinkButton {
  resource: Resource;
  rel: string;
  /** What the button says. */
  name: string;
  /** What it is read out as, where the name alone would not tell which one is meant. */
  label?: string;
  title: string;
  /** What the button of the form says. */
  verb: string;
  buttonClass?: string;
  asks?: readonly string[];
  current?: Readonly<Record<string, unknown>>;
  guard?: { loses: string; name: string };
  onDone(): void;
}

export function LinkButton({ resource, rel, name, label, title, verb, buttonClass = 'button tiny', onDone, ...form }: LinkButton) {
  const [isOpen, setOpen] = useState(false);
  const link = linkOf(resource, rel);
  if (!link) return undefined;
  const close = () => setOpen(false);
  const done = () => {
    close();
    onDone();
  };
  return (
    <>
      <button type="button" className={buttonClass} aria-label={label} onClick={() => setOpen(true)}>
        {name}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <LinkForm link={link} verb={verb} onDone={done} onCancel={close} {...form} />
        </Dialog>
      )}
    </>
  );
}
