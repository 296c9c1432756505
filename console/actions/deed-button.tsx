/**
 * A button for one link of a resource, with the form that the link describes in a dialog. Without the link there is no button, unless the API says why the link is
 * not there just now: then the button is there, says why, and does nothing.
 */
import { type ReactNode, useState } from 'react';
import { linkOf, reasonAgainst, type Resource } from '../api/link.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { type FormOfLink, LinkForm } from './link-form.tsx';
import { NotNowButton } from './not-now-button.tsx';

interface DeedButton extends FormOfLink {
  resource: Resource | undefined;
  rel: string;
  /** What the button of the form says, and this one where it says nothing else. */
  verb: string;
  says?: string;
  /** What the button is read out as, where several say the same. */
  label?: string;
  title?: ReactNode;
  icon?: IconName;
  look?: string;
  onDone(result: unknown): void;
}

export function DeedButton({ resource, rel, verb, says = verb, label, title, icon, look = 'button', onDone, ...form }: DeedButton) {
  const [isAsking, setAsking] = useState(false);
  const link = linkOf(resource, rel);
  const reason = reasonAgainst(resource, rel);
  if (reason !== undefined) return <NotNowButton reason={reason} verb={says} icon={icon} look={look} label={label} />;
  if (!link) return undefined;
  const done = (result: unknown) => {
    setAsking(false);
    onDone(result);
  };
  return (
    <>
      <button type="button" className={look} aria-label={label} onClick={() => setAsking(true)}>
        {icon && <Icon name={icon} className={look.includes('tiny') ? 'small' : ''} />}
        {says}
      </button>
      {isAsking && (
        <Dialog title={title ?? label ?? says} onClose={() => setAsking(false)}>
          <LinkForm {...form} link={link} verb={verb} onDone={done} onCancel={() => setAsking(false)} />
        </Dialog>
      )}
    </>
  );
}
