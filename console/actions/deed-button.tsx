/** A button for one link of a resource, with the form that the link describes in a dialog. Without the link there is no button. */
import { type ReactNode, useState } from 'react';
import { linkOf, type Resource } from '../api/link.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { type Body, LinkForm, type Told } from './link-form.tsx';

interface DeedButton {
  resource: Resource | undefined;
  rel: string;
  verb: string;
  /** What the button is read out as, where several say the same. */
  label?: string;
  title?: ReactNode;
  icon?: IconName;
  look?: string;
  given?: Body;
  current?: Body;
  asks?: readonly string[];
  suggests?: Body;
  more?: { fields: ReactNode; body(form: FormData): Body };
  told?: (body: Body) => Told;
  name?: string;
  onDone(result: unknown): void;
}

export function DeedButton({ resource, rel, verb, label, title, icon, look = 'button', onDone, ...form }: DeedButton) {
  const [isAsking, setAsking] = useState(false);
  const link = linkOf(resource, rel);
  if (!link) return undefined;
  const done = (result: unknown) => {
    setAsking(false);
    onDone(result);
  };
  return (
    <>
      <button type="button" className={look} aria-label={label} onClick={() => setAsking(true)}>
        {icon && <Icon name={icon} className={look.includes('tiny') ? 'small' : ''} />}
        {verb}
      </button>
      {isAsking && (
        <Dialog title={title ?? label ?? verb} onClose={() => setAsking(false)}>
          <LinkForm {...form} link={link} verb={verb} onDone={done} onCancel={() => setAsking(false)} />
        </Dialog>
      )}
    </>
  );
}
