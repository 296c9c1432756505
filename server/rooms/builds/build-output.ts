/**
 * What a build says, in the layout of a push: steps are indented by two, what their commands print by four, and errors begin with `W: `.
 * Lines and the whole are bounded, but the last lines of a long output are always there; values that must not be seen are masked.
 */
import type { Readable } from 'node:stream';

const lineCharactersMax = 4096;
const outputCharactersMax = 2 * 1024 * 1024;
const outputLinesMax = 20_000;
const lastLinesMax = 50;
const mask = '*****';

export interface Voice {
  log(line: string): void;
  end(): void;
}

/** Keeps the output of several builds apart: that of the first is logged as it comes, that of the others once those before them have ended. */
export function oneVoiceAtATime(log: (text: string) => void): () => Voice {
  const voices: { lines: string[]; hasEnded: boolean }[] = [];
  return () => {
    const mine = { lines: [] as string[], hasEnded: false };
    voices.push(mine);
    return {
      log: (line) => void (voices[0] === mine ? log(line) : mine.lines.push(line)),
      end: () => {
        mine.hasEnded = true;
        while (voices[0]?.hasEnded) {
          voices.shift();
          for (const line of voices[0]?.lines.splice(0) ?? []) log(line);
        }
      },
    };
  };
}

export interface Said {
  lines: number;
  characters: number;
}

/** Logs lines as they come until there are too many; of the rest, only the last are logged, at the end. `said` counts what was logged before. */
export function openBounded(log: (line: string) => void, said: Said = { lines: 0, characters: 0 }) {
  let { lines, characters } = said;
  const lastLines: string[] = [];
  let leftOut = 0;
  return {
    print(line: string) {
      if (characters < outputCharactersMax && lines < outputLinesMax) {
        lines += 1;
        characters += line.length;
        return log(line);
      }
      leftOut += 1;
      if (lastLines.push(line) > lastLinesMax) lastLines.shift();
    },
    catchUp() {
      const unseen = leftOut - lastLines.length;
      if (unseen > 0) log(`    W: ${unseen} more lines are left out here.`);
      for (const line of lastLines.splice(0)) log(line);
      leftOut = 0;
    },
    holdsBack: () => leftOut > 0,
    said: (): Said => ({ lines, characters }),
  };
}

export interface BuildOutput {
  /** A step of the build. */
  step(text: string): void;
  /** Part of a step. */
  line(text: string): void;
  warn(text: string): void;
  /** Logs all that a command prints, until its streams are closed. */
  follow(stdout: Readable, stderr: Readable): Promise<void>;
}

export function openOutput(log: (line: string) => void, masked: (line: string) => string): BuildOutput {
  const said = openBounded(log);
  return {
    step: (text) => log(`  ${text}`),
    line: (text) => log(`    ${text}`),
    warn: (text) => log(`    W: ${text}`),
    async follow(stdout, stderr) {
      await Promise.all([
        eachLine(stdout, masked, (line) => said.print(`    ${line}`)),
        eachLine(stderr, masked, (line) => said.print(`    W: ${line}`)),
      ]);
      said.catchUp();
    },
  };
}

/** Prints each line. A very long line is cut, after it is masked, so that no part of a secret is left at the cut. */
function eachLine(stream: Readable, masked: (line: string) => string, print: (line: string) => void): Promise<void> {
  const heldCharactersMax = lineCharactersMax * 32;
  let pending = '';
  const take = (text: string) => {
    const lines = (pending + text).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) print(shownLine(masked(line)));
    pending = rest.length > heldCharactersMax ? rest.slice(0, heldCharactersMax) : rest;
  };
  return new Promise((resolve) => {
    stream.setEncoding('utf8');
    stream.on('data', take);
    stream.on('error', () => {});
    stream.once('close', () => {
      if (pending !== '') take('\n');
      resolve();
    });
  });
}

// oxlint-disable-next-line no-control-regex -- a terminal obeys control characters; colours may stay
const controls = /\u001b(?!\[[0-9;]*m)(?:\[[0-9;?]*[A-Za-z])?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;

/** A line as it is shown: the last state of a progress bar that draws over itself, and no control characters that a terminal would obey. */
export function shownLine(line: string): string {
  const text = line.replace(/\r+$/, '');
  const last = text.slice(text.lastIndexOf('\r') + 1).replaceAll(controls, '');
  return last.length > lineCharactersMax ? `${last.slice(0, lineCharactersMax)}…`.toWellFormed() : last;
}

/** Shorter values are not masked: hardly anything of a line would be left, and the gaps would give the value away. */
const maskedCharactersMin = 4;

/** Secrets of several lines are masked line by line. */
export function maskOf(secrets: readonly string[]): (line: string) => string {
  const parts = secrets.flatMap((secret) => secret.split(/\r?\n/)).map((part) => part.trim());
  const wanted = [...new Set(parts.filter((part) => part.length >= maskedCharactersMin))].sort((a, b) => b.length - a.length);
  return (line) => wanted.reduce((text, secret) => text.replaceAll(secret, mask), line);
}
