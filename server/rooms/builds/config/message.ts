/** What is said about a configuration: where, about which key, and one sentence of what was found and what was expected. */
import type { Spot } from './node.ts';
import { positionOf } from './node.ts';

export interface ConfigMessage {
  file: string;
  /** Line and column are counted from 1. */
  line: number;
  column: number;
  /** `applications.app.web.commands.start` */
  path: string;
  message: string;
}

export interface Report {
  errors: ConfigMessage[];
  warnings: ConfigMessage[];
  error(at: Spot, path: string, message: string): void;
  warn(at: Spot, path: string, message: string): void;
}

/** How many errors, and how many warnings, are reported; whoever has more to repair will read the configuration again. */
const messagesMax = 200;
const pathCharactersMax = 300;

export function openReport(): Report {
  const errors: ConfigMessage[] = [];
  const warnings: ConfigMessage[] = [];
  const seen = new Set<string>();
  const add = (to: ConfigMessage[], at: Spot, path: string, message: string) => {
    if (to.length >= messagesMax) return;
    const said = { ...positionOf(at), path: path.slice(0, pathCharactersMax), message };
    // A mistake that an alias repeats is reported once.
    const key = JSON.stringify([said.file, said.line, said.column, message]);
    if (!seen.has(key)) to.push(said);
    seen.add(key);
  };
  return {
    errors,
    warnings,
    error: (at, path, message) => add(errors, at, path, message),
    warn: (at, path, message) => add(warnings, at, path, message),
  };
}

const quotedCharactersMax = 60;

/** A value in a sentence. */
export const quoted = (text: string) =>
  JSON.stringify(text.length > quotedCharactersMax ? `${text.slice(0, quotedCharactersMax)}…`.toWellFormed() : text);

interface Said {
  errors?: readonly ConfigMessage[] | undefined;
  warnings: readonly ConfigMessage[];
}

/** The messages as the person who pushes sees them; empty where there are none. */
export function printMessages({ errors = [], warnings }: Said): string {
  const lines = warnings.map((message) => `W: ${printed(message)}`);
  if (errors.length > 0) {
    lines.push('E: Error parsing configuration files:', ...errors.map((message) => `    - ${printed(message)}`));
    lines.push('E: Error: Invalid configuration files, aborting build');
  }
  return lines.map((line) => `${line}\n`).join('');
}

// oxlint-disable-next-line no-control-regex -- a terminal obeys control characters
const controls = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const printed = ({ file, line, column, path, message }: ConfigMessage) =>
  [`${file}:${line}:${column}`, ...(path === '' ? [] : [path]), message].join(': ').replaceAll(controls, '\ufffd');
