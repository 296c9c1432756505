/**
 * What one may do, but not just now. `aria-disabled` leaves the button within reach of the keyboard, which `disabled` would not; the reason is read out with it, and
 * seen when it is pointed at, has the focus or was touched.
 */
import { type MouseEvent, useId } from 'react';
import { Icon, type IconName } from '../ui/icon.tsx';

interface NotNow {
  reason: string;
  verb: string;
  icon?: IconName | undefined;
  look: string;
  /** What the button is read out as, where several say the same. */
  label?: string | undefined;
}

export function NotNowButton({ reason, verb, icon, look, label }: NotNow) {
  const id = useId();
  return (
    <span className="with-reason">
      <button type="button" className={look} aria-disabled="true" aria-label={label} aria-describedby={id}>
        {icon && <Icon name={icon} className={look.includes('tiny') ? 'small' : ''} />}
        {verb}
      </button>
      <span className="reason" role="tooltip" id={id}>
        {reason}
      </span>
    </span>
  );
}

/** In a menu there is room for the reason. Choosing it does not close the menu, because nothing was chosen. */
export function NotNowItem({ reason, verb, icon }: Pick<NotNow, 'reason' | 'verb'> & { icon: IconName }) {
  const id = useId();
  return (
    <button type="button" aria-disabled="true" aria-label={verb} aria-describedby={id} onClick={stayOpen}>
      <Icon name={icon} />
      <span>
        {verb}
        <span className="why" id={id}>
          {reason}
        </span>
      </span>
    </button>
  );
}

const stayOpen = (event: MouseEvent) => event.stopPropagation();
