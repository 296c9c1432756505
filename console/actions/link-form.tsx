/** A form drawn from a link. What it does is told before it is done; refusals are shown in the API's words, beside the field that they are about. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { deedOf, type Deed, type Link, type Schema } from '../api/link.ts';
import { Refusal, request } from '../api/request.ts';
import { type Effect, Effects, isLosing } from '../ui/effects.tsx';
import { Bones, FailureNotice } from '../ui/notice.tsx';
import { Fields } from './fields.tsx';
import { bodyOf, fieldsOf, type FormField, refusalsBy, untouched } from './form-fields.ts';

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
  /** What following the link does, where the API's own summary says less. */
  summary?: string | undefined;
  /** What is decided already: these fields are sent, and not asked for. */
  given?: Body;
  /** What the fields hold now, by their paths: only what is changed is sent. */
  current?: Body | undefined;
  /** The fields to ask for, in this order, where not all of them are of use. */
  asks?: readonly string[] | undefined;
  /** The fields that are shown at once, where the others are behind "More". */
  first?: ((field: FormField) => boolean) | undefined;
  /** What the body is like, where the link says less than is known of it. */
  schema?: Schema | undefined;
  /** What stands in a field at first, where it is something else than the API would decide. */
  suggests?: Body | undefined;
  /** What choices are called, by field, where the API has words for them elsewhere. */
  words?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
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

function fieldsAsked({ deed, schema = deed.fields, given, current, asks, suggests, words }: LinkForm & { deed: Deed }): FormField[] {
  const fields = fieldsOf(schema, current).filter(({ path }) => given?.[path] === undefined);
  const asked = asks?.flatMap((path) => fields.find((field) => field.path === path) ?? []) ?? fields;
  return asked.map((field) => ({
    ...field,
    words: words?.[field.path] ?? field.words,
    initial: (suggests?.[field.path] as string | boolean | undefined) ?? field.initial,
  }));
}

function toldBy({ told, guard }: LinkForm, body: Body): Told {
  if (told) return told(body);
  return guard ? { effects: [{ kind: 'lost', what: guard.loses }] } : {};
}

function DeedForm(props: LinkForm & { deed: Deed }) {
  const { deed, verb, given, current, more, first, name, guard, onDone, onCancel } = props;
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
  const refused = refusalsBy(fields, mutation.error instanceof Refusal ? mutation.error.fields : {});
  return (
    <form
      onChange={({ currentTarget }) => setBody(bodyIn(currentTarget))}
      onSubmit={(event) => {
        event.preventDefault();
        mutation.mutate(bodyIn(event.currentTarget));
      }}
    >
      <div className="dialog-body">
        <p className="quiet">{props.summary ?? `${deed.summary}.`}</p>
        {told.drawing}
        <Fields fields={fields} refused={refused.byPath} first={first} />
        {more?.fields}
        {told.effects && <Effects effects={told.effects} />}
        {nameToType !== undefined && <TypedName name={nameToType} typed={typedName} onType={setTypedName} />}
        {mutation.error && !refused.isAllShown && <FailureNotice>{mutation.error.message}</FailureNotice>}
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
