/** Colours of terminals in log lines. Whatever else a line holds is text; other control sequences are left out. */
export interface Run {
  text: string;
  classes: string;
}

const colours: Readonly<Record<number, string>> = {
  30: 'a-dim',
  31: 'a-red',
  32: 'a-green',
  33: 'a-yellow',
  34: 'a-blue',
  35: 'a-magenta',
  36: 'a-cyan',
  90: 'a-dim',
  91: 'a-red',
  92: 'a-green',
  93: 'a-yellow',
  94: 'a-blue',
  95: 'a-magenta',
  96: 'a-cyan',
};

// oxlint-disable no-control-regex -- terminals are told what to do by control characters
const sequence =
  /\u001b\[([\d;]*)m|\u001b(?:\[[\d;?]*[A-Za-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g;

export function runsOf(line: string): Run[] {
  const runs: Run[] = [];
  let [at, colour, isBold, isDim] = [0, '', false, false];
  const push = (text: string) => {
    if (text !== '') runs.push({ text, classes: [colour, isBold && 'a-bold', isDim && 'a-dim'].filter(Boolean).join(' ') });
  };
  for (const found of line.matchAll(sequence)) {
    push(line.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[1] === undefined) continue;
    for (const code of found[1].split(';').map(Number)) {
      if (code === 0) [colour, isBold, isDim] = ['', false, false];
      else if (code === 1) isBold = true;
      else if (code === 2) isDim = true;
      else if (code === 22) [isBold, isDim] = [false, false];
      else if (code === 39) colour = '';
      else colour = colours[code] ?? colour;
    }
  }
  push(line.slice(at));
  return runs;
}
