/** The fields of a form, each with what it is for and with what the API refuses of it. */
import { type ReactNode, useId, useState } from 'react';
import { FieldError } from '../ui/notice.tsx';
import type { FormField } from './form-fields.ts';

interface FieldsProps {
  fields: readonly FormField[];
  refused: ReadonlyMap<string, string>;
  /** The fields that are shown at once; without it, all of them. */
  first?: ((field: FormField) => boolean) | undefined;
}

const everyField = () => true;

/** Boxes that belong together are cards side by side, above the rest. */
export function Fields({ fields, refused, first = everyField }: FieldsProps) {
  const drawn = (some: readonly FormField[]) =>
    some.map((field) => <Field key={field.path} field={field} refusal={refused.get(field.path)} isFirst={field === fields[0]} />);
  const cards = fields.filter(({ isCard }) => isCard);
  const others = fields.filter(({ isCard }) => !isCard);
  const hidden = others.filter((field) => !first(field));
  return (
    <>
      {cards.length > 0 && <fieldset className="choices">{drawn(cards)}</fieldset>}
      {drawn(others.filter(first).toSorted((one, other) => (hidden.length > 0 ? Number(other.isRequired) - Number(one.isRequired) : 0)))}
      {hidden.length > 0 && <More isRefused={hidden.some(({ path }) => refused.has(path))}>{drawn(hidden)}</More>}
    </>
  );
}

/** What is refused is not hidden, whatever was folded before. */
function More({ isRefused, children }: { isRefused: boolean; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="more-fields" open={isOpen || isRefused} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>More</summary>
      <div className="stack">{children}</div>
    </details>
  );
}

interface FieldProps {
  field: FormField;
  refusal: string | undefined;
  isFirst: boolean;
}

function Field({ field, refusal, isFirst }: FieldProps) {
  const [id, hintId, errorId] = [useId(), useId(), useId()];
  const { path, kind, label, hint, isRequired } = field;
  const described = `${hint === undefined ? '' : hintId} ${refusal === undefined ? '' : errorId}`.trim();
  const shared = {
    id,
    name: path,
    'aria-describedby': described || undefined,
    'aria-invalid': refusal === undefined ? undefined : true,
  } as const;
  if (kind === 'box')
    return (
      <label className="check" htmlFor={id}>
        <input type="checkbox" {...shared} defaultChecked={field.initial === true} />
        <span>
          {label}
          <Described id={hintId} hint={hint} />
          {refusal !== undefined && <FieldError id={errorId}>{sentence(label, refusal)}</FieldError>}
        </span>
      </label>
    );
  if (kind === 'several')
    return (
      <fieldset className="field several" aria-describedby={shared['aria-describedby']}>
        <legend>{label}</legend>
        <Several field={field} />
        <Described id={hintId} hint={hint} />
        {refusal !== undefined && <FieldError id={errorId}>{sentence(label, refusal)}</FieldError>}
      </fieldset>
    );
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!isRequired && <span className="quiet"> (optional)</span>}
      </label>
      <Control field={field} isFirst={isFirst} shared={shared} />
      <Described id={hintId} hint={hint} />
      {refusal !== undefined && <FieldError id={errorId}>{sentence(label, refusal)}</FieldError>}
    </div>
  );
}

interface ControlProps {
  field: FormField;
  isFirst: boolean;
  shared: Readonly<Record<string, unknown>>;
}

const Several = ({ field: { path, choices, words, initial } }: { field: FormField }) => (
  <div className="row wrap">
    {choices.map((choice) => (
      <label key={choice} className="check">
        <input type="checkbox" name={path} value={choice} defaultChecked={String(initial).split('\n').includes(choice)} />
        <span>{words[choice] ?? choice}</span>
      </label>
    ))}
  </div>
);

function Control({ field: { path, kind, initial, choices, words, charactersMax, isLeftToApi }, isFirst, shared }: ControlProps) {
  const typed = { ...shared, defaultValue: String(initial), autoComplete: 'off', spellCheck: false };
  if (kind === 'choice')
    return (
      <select className="input" {...shared} defaultValue={String(initial)}>
        {(isLeftToApi || initial === '') && <option value="">As the platform decides</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {words[choice] ?? choice}
          </option>
        ))}
      </select>
    );
  if (kind === 'lines') return <textarea className="input mono" rows={3} {...typed} placeholder="One on each line" />;
  if (kind === 'pairs') return <textarea className="input mono" rows={3} {...typed} placeholder="name: value, one on each line" />;
  if (kind === 'long secret') return <textarea className="input mono masked" rows={3} {...typed} maxLength={charactersMax} />;
  if (kind === 'secret') {
    const autoComplete = path === 'current_password' ? 'current-password' : 'new-password';
    return <input className="input mono" type="password" {...typed} autoComplete={autoComplete} maxLength={charactersMax} />;
  }
  if (kind === 'prose') return <textarea className="input" rows={6} {...typed} spellCheck maxLength={charactersMax} />;
  if (kind === 'long text') return <textarea className="input mono" rows={3} {...typed} maxLength={charactersMax} />;
  if (kind === 'number') return <input className="input" type="number" step="any" {...typed} />;
  // oxlint-disable-next-line jsx-a11y/no-autofocus -- the first field of a dialog that was asked for
  return <input className="input" {...typed} maxLength={charactersMax} autoFocus={isFirst} />;
}

const Described = ({ id, hint }: { id: string; hint: ReactNode }) =>
  hint === undefined ? undefined : (
    <span className="hint" id={id}>
      {hint}
    </span>
  );

/** The API says of a field what must hold, such as "must not be empty". */
const sentence = (label: string, refusal: string) => `${label} ${refusal}.`;
