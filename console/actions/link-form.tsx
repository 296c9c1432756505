/** A form drawn from a link. What it does is told before it is done; refusals are shown in the API's words, beside the field that they are about. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { deedOf, type Deed, type Link } from '../api/link.ts';
import { Refusal, request } from '../api/request.ts';
import { type Effect, Effects, isLosing } from '../ui/effects.tsx';
import { Bones, FailureNotice, FieldError } from '../ui/notice.tsx';
import { bodyOf, fieldsOf, type FormField, untouched } from './form-fields.ts';

export type Body = Readonly<Record<string, unknown>>;

/** What a deed does, as the form is filled in. */
export interface Told {
  drawing?: ReactNode;
  effects?: readonly Effect[];
  /** What the button says, where it depends on what was chosen. */
  verb?: string;
  /** The name to be typed, where it depends on what was chosen. */
  name?: string;
}

/** What a form asks, tells and sends, beyond what its link says. */
export interface FormOfLink {
  /** What is decided already: these fields are sent, and not asked for. */
  given?: Body;
  /** What the fields hold now, by their paths: only what is changed is sent. */
  current?: Body | undefined;
  /** The fields to ask for, in this order, where not all of them are of use. */
  asks?: readonly string[] | undefined;
  /** What stands in a field at first, where it is something else than the API would decide. */
  suggests?: Body | undefined;
  /** Fields that cannot be drawn from the link; they add to the body. */
  more?: { fields: ReactNode; body(form: FormData): Body } | undefined;
  told?: ((body: Body) => Told) | undefined;
  /** The name to be typed where something is lost. */
  name?: string | undefined;
  /** For deeds that always destroy the same: what is lost, and the name to be typed. */
  guard?: { loses: string; name?: string } | undefined;
}

interface LinkForm extends FormOfLink {
  link: Link;
  /** What the button says. */
  verb: string;
  onDone(result: unknown): void;
  onCancel(): void;
}

export function LinkForm(form: LinkForm) {
  const { link, onCancel } = form;
  const { data: deed, error } = useQuery({ queryKey: ['deed', link], queryFn: () => deedOf(link), staleTime: Number.POSITIVE_INFINITY });
  if (deed) return <DeedForm {...form} deed={deed} />;
  return (
    <>
      <div className="dialog-body">{error ? <FailureNotice>{error.message}</FailureNotice> : <Bones rows={1} height={20} />}</div>
      <div className="dialog-foot">
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </>
  );
}

function fieldsAsked({ deed, given, current, asks, suggests }: LinkForm & { deed: Deed }): FormField[] {
  const fields = fieldsOf(deed.fields, current).filter(({ path }) => given?.[path] === undefined);
  const asked = asks?.flatMap((path) => fields.find((field) => field.path === path) ?? []) ?? fields;
  return asked.map((field) => ({ ...field, initial: (suggests?.[field.path] as string | boolean | undefined) ?? field.initial }));
}

function toldBy({ told, guard }: LinkForm, body: Body): Told {
  if (told) return told(body);
  return guard ? { effects: [{ kind: 'lost', what: guard.loses }] } : {};
}

function DeedForm(props: LinkForm & { deed: Deed }) {
  const { deed, verb, given, current, more, name, guard, onDone, onCancel } = props;
  const fields = fieldsAsked(props);
  const [body, setBody] = useState<Body>(() => untouched(fields, current !== undefined));
  const [typedName, setTypedName] = useState('');
  const told = toldBy(props, { ...given, ...body });
  const isDestroying = isLosing(told.effects ?? []);
  const nameToType = isDestroying ? (told.name ?? name ?? guard?.name) : undefined;
  const bodyIn = (form: HTMLFormElement) => {
    const data = new FormData(form);
    return { ...bodyOf(fields, data, current !== undefined), ...more?.body(data) };
  };
  const mutation = useMutation({
    mutationFn: (typed: Body) =>
      request<unknown>(deed.method, deed.href, fields.length === 0 && !given && !more ? undefined : { ...given, ...typed }),
    onSuccess: onDone,
  });
  const refused = mutation.error instanceof Refusal ? mutation.error.fields : {};
  const isAboutField = fields.some(({ path }) => refused[path] !== undefined);
  return (
    <form
      onChange={({ currentTarget }) => setBody(bodyIn(currentTarget))}
      onSubmit={(event) => {
        event.preventDefault();
        mutation.mutate(bodyIn(event.currentTarget));
      }}
    >
      <div className="dialog-body">
        <p className="quiet">{deed.summary}.</p>
        {told.drawing}
        <Fields fields={fields} refused={refused} />
        {more?.fields}
        {told.effects && <Effects effects={told.effects} />}
        {nameToType !== undefined && <TypedName name={nameToType} typed={typedName} onType={setTypedName} />}
        {mutation.error && !isAboutField && <FailureNotice>{mutation.error.message}</FailureNotice>}
      </div>
      <div className="dialog-foot">
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
        <button
          type="submit"
          className={isDestroying ? 'button danger sure' : 'button primary'}
          disabled={mutation.isPending || (nameToType !== undefined && typedName !== nameToType)}
        >
          {told.verb ?? verb}
        </button>
      </div>
    </form>
  );
}

function TypedName({ name, typed, onType }: { name: string; typed: string; onType(text: string): void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        Type <code>{name}</code> to confirm
      </label>
      <input
        id={id}
        className="input mono"
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => onType(target.value)}
      />
    </div>
  );
}

interface FieldsProps {
  fields: readonly FormField[];
  refused: Readonly<Record<string, string>>;
}

/** Boxes that belong together are cards side by side, above the rest. */
function Fields({ fields, refused }: FieldsProps) {
  const drawn = (some: readonly FormField[]) =>
    some.map((field) => <Field key={field.path} field={field} refusal={refused[field.path]} isFirst={field === fields[0]} />);
  const cards = fields.filter(({ isCard }) => isCard);
  return (
    <>
      {cards.length > 0 && <fieldset className="choices">{drawn(cards)}</fieldset>}
      {drawn(fields.filter(({ isCard }) => !isCard))}
    </>
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
  if (kind === 'boxes')
    return (
      <fieldset className="field boxes" aria-describedby={described || undefined}>
        <legend className="label">{label}</legend>
        <Boxes field={field} />
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

function Boxes({ field: { path, choices, words, initial } }: { field: FormField }) {
  const checked = new Set(String(initial).split('\n'));
  return choices.map((choice) => (
    <label key={choice} className="check">
      <input type="checkbox" name={path} value={choice} defaultChecked={checked.has(choice)} />
      <span>{words[choice] ?? choice}</span>
    </label>
  ));
}

interface ControlProps {
  field: FormField;
  isFirst: boolean;
  shared: Readonly<Record<string, unknown>>;
}

function Control({ field: { path, kind, initial, choices, words, charactersMax, isRequired }, isFirst, shared }: ControlProps) {
  const typed = { ...shared, defaultValue: String(initial), autoComplete: 'off', spellCheck: false };
  if (kind === 'choice')
    return (
      <select className="input" {...shared} defaultValue={String(initial)}>
        {(!isRequired || initial === '') && <option value="">As the platform decides</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {words[choice] ?? choice}
          </option>
        ))}
      </select>
    );
  if (kind === 'lines') return <textarea className="input mono" rows={3} {...typed} placeholder="One on each line" />;
  if (kind === 'long text') return <textarea className="input mono" rows={3} {...typed} maxLength={charactersMax} />;
  if (kind === 'number') return <input className="input" type="number" step="any" {...typed} />;
  if (kind === 'secret')
    return (
      <input
        className="input"
        type="password"
        {...typed}
        autoComplete={path === 'password' ? 'new-password' : 'current-password'}
        maxLength={charactersMax}
      />
    );
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
