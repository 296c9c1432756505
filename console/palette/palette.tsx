/** Ctrl-K: type a few letters of a project, an environment, a page or an action, and go there or do it. */
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { DeedDialog } from '../actions/environment-actions.tsx';
import { type Entry, useEntries } from './entries.ts';
import { matching } from './matching.ts';

const shownMax = 40;

export function Palette({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [deed, setDeed] = useState<Exclude<Entry['to'], string>>();
  const navigate = useNavigate();
  const listId = useId();
  const shown = matching(useEntries(), typed, shownMax);
  useEffect(() => dialog.current?.showModal(), []);
  const follow = ({ to }: Entry) => {
    if (typeof to !== 'string') return setDeed(to);
    onClose();
    return void navigate({ to });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key];
    const entry = shown[chosen];
    if (step !== undefined && shown.length > 0) setChosen((chosen + step + shown.length) % shown.length);
    else if (event.key === 'Enter' && entry) follow(entry);
    else return;
    event.preventDefault();
  };
  if (deed) return <DeedDialog project={deed.environment.project} environment={deed.environment} offer={deed.offer} onClose={onClose} />;
  return (
    <dialog className="palette" ref={dialog} aria-label="Go to" onClose={onClose}>
      <input
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the dialog was opened to type in it
        autoFocus
        role="combobox"
        aria-label="Projects, environments, pages and actions"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={shown[chosen] && `${listId}-${chosen}`}
        placeholder="Projects, environments, pages, actions"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={listId} aria-label="What was found">
        {shown.map((entry, n) => (
          <Option key={n} id={`${listId}-${n}`} entry={entry} isChosen={n === chosen} onFollow={() => follow(entry)} />
        ))}
      </div>
      {shown.length === 0 && <p className="group">Nothing is called that.</p>}
    </dialog>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function Option({ id, entry, isChosen, onFollow }: { id: string; entry: Entry; isChosen: boolean; onFollow(): void }) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus -- the field above has the focus and the keys
    <div role="option" id={id} ref={option} aria-selected={isChosen} onClick={onFollow}>
      <span className="cut">{entry.name}</span>
      <span className="small quiet cut">{entry.place}</span>
      <span className="small quiet push nowrap">{entry.group}</span>
    </div>
  );
}
