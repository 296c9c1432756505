/**
 * What the directives of one page do: they say what stands in their place, what is shown of the text between them, and what is to be included. They are those of
 * nginx: include, echo, set, if, block and config.
 */
import { Branches } from './branches.ts';
import { judge } from './condition.ts';
import { fillIn, readDirective, type Directive } from './directive.ts';
import { directiveEnd, directiveStart } from './directive-scanner.ts';
import type { PageMemory } from './page-memory.ts';
import { placeOf, type Place } from './included-request.ts';
import { requestVariable, type AskedPage } from './request-variables.ts';
import { standardTimeFormat } from './time-format.ts';

export interface IncludeOrder {
  kind: 'include';
  place: Place;
  /** What stands in its place where it fails or is empty. */
  stub: string | undefined;
  /** The variable that gets it; then nothing of it is shown. */
  variable: string | undefined;
}

/** A text is what the page says in the directive's place. */
type Obeyed = string | IncludeOrder;

const standardError = '[an error occurred while processing the directive]';

const encodings: Readonly<Record<string, (text: string) => string>> = {
  none: (text) => text,
  url: (text) => text.replaceAll(/[^A-Za-z0-9._~/-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`),
  entity: (text) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
};

export class PageDirectives {
  readonly #asked: AskedPage;
  readonly #memory: PageMemory;
  readonly #branches = new Branches();
  /** By the last regular expression that matched. */
  #caught: ReadonlyMap<string, string> = new Map();
  /** The block that is being read, and what was read of it; it is too long where that is undefined. */
  #block: { name: string; source: string | undefined } | undefined;
  errorText = standardError;

  constructor(asked: Omit<AskedPage, 'timeFormat'>, memory: PageMemory) {
    this.#asked = { ...asked, timeFormat: standardTimeFormat };
    this.#memory = memory;
  }

  /** Whether the text is shown. One that belongs to a block is kept for it. */
  shows(text: Buffer): boolean {
    if (this.#block) this.#addToBlock(text.toString('latin1'));
    return !this.#block && this.#branches.isShown;
  }

  obey(source: string): Obeyed {
    const directive = readDirective(source);
    const command = directive?.command ?? '';
    if (this.#block && command !== 'endblock') {
      this.#addToBlock(`${directiveStart}${source}${directiveEnd}`);
      return '';
    }
    if (!this.#branches.isShown && !branching.has(command)) return '';
    return (
      (directive && Object.hasOwn(this.#commands, command) ? this.#commands[command]?.(directive.parameters) : undefined) ?? this.error
    );
  }

  /** What stands in the place of a directive that cannot be obeyed. */
  get error(): string {
    return this.#branches.isShown && !this.#block ? this.errorText : '';
  }

  /** Undefined: an error. */
  readonly #commands: Readonly<Record<string, (parameters: Directive['parameters']) => Obeyed | undefined>> = {
    include: (parameters) => this.#include(parameters),
    echo: (parameters) => this.#echo(parameters),
    set: (parameters) => this.#set(parameters),
    config: (parameters) => this.#configure(parameters),
    block: (parameters) => this.#openBlock(parameters),
    endblock: () => this.#closeBlock(),
    if: (parameters) => this.#judged(parameters, (condition) => this.#branches.open(condition)),
    elif: (parameters) => this.#judged(parameters, (condition) => this.#branches.turn(condition)),
    else: () => emptyIf(this.#branches.turn(() => true)),
    endif: () => emptyIf(this.#branches.close()),
  };

  #include(parameters: Directive['parameters']): IncludeOrder | undefined {
    const [virtual, file] = [parameters.get('virtual'), parameters.get('file')];
    const written = virtual ?? file;
    if (written === undefined || (virtual !== undefined && file !== undefined)) return undefined;
    const place = placeOf(this.#fill(written), this.#asked.request.path);
    const [stub, variable] = [parameters.get('stub'), parameters.get('set')];
    if (!place || (stub !== undefined && this.#memory.get('block', stub) === undefined)) return undefined;
    return { kind: 'include', place, stub, variable: variable?.toLowerCase() };
  }

  #echo(parameters: Directive['parameters']): string | undefined {
    const [name, encoding] = [parameters.get('var'), parameters.get('encoding') ?? 'entity'];
    const encode = Object.hasOwn(encodings, encoding) ? encodings[encoding] : undefined;
    if (name === undefined || !encode) return undefined;
    const value = this.#valueOf(name.toLowerCase());
    return value === undefined ? (parameters.get('default') ?? '(none)') : encode(value);
  }

  #set(parameters: Directive['parameters']): string | undefined {
    const [name, value] = [parameters.get('var'), parameters.get('value')];
    if (name === undefined || value === undefined) return undefined;
    return emptyIf(this.#memory.keep('variable', name.toLowerCase(), this.#fill(value)));
  }

  #configure(parameters: Directive['parameters']): string {
    this.errorText = parameters.get('errmsg') ?? this.errorText;
    this.#asked.timeFormat = parameters.get('timefmt') ?? this.#asked.timeFormat;
    return '';
  }

  #openBlock(parameters: Directive['parameters']): string | undefined {
    const name = parameters.get('name');
    if (name === undefined || !this.#memory.keep('block', name, '')) return undefined;
    this.#block = { name, source: '' };
    return '';
  }

  #addToBlock(source: string) {
    if (this.#block?.source === undefined) return;
    const more = this.#block.source + source;
    this.#block.source = this.#memory.keep('block', this.#block.name, more) ? more : undefined;
  }

  #closeBlock(): string | undefined {
    const block = this.#block;
    this.#block = undefined;
    return emptyIf(block?.source !== undefined);
  }

  /** A condition that cannot be decided does not hold. */
  #judged(parameters: Directive['parameters'], decide: (condition: () => boolean) => boolean): string | undefined {
    const expression = parameters.get('expr');
    let isWrong = false;
    const isPlaced = decide(() => {
      const verdict = expression === undefined ? undefined : judge(expression, (text) => this.#fill(text), this.#memory);
      isWrong = verdict === undefined;
      if (verdict && verdict.caught.size > 0) this.#caught = verdict.caught;
      return verdict?.isTrue ?? false;
    });
    return isWrong ? this.errorText : emptyIf(isPlaced);
  }

  #valueOf(name: string): string | undefined {
    return this.#memory.get('variable', name) ?? this.#caught.get(name) ?? requestVariable(name, this.#asked);
  }

  #fill(text: string): string {
    return fillIn(text, (name) => this.#valueOf(name));
  }
}

/** They are heeded where nothing is shown, too. */
const branching = new Set(['if', 'elif', 'else', 'endif']);

const emptyIf = (isDone: boolean) => (isDone ? '' : undefined);
