/** The steps of a log. A line at the margin begins a step; what is indented below it belongs to it. */
export interface LogLine {
  id: string;
  /** From 1, over the whole log: the address of the line. */
  number: number;
  at: string;
  text: string;
}

export interface Step {
  head: LogLine;
  lines: LogLine[];
}

export function stepsOf(lines: readonly LogLine[]): Step[] {
  const steps: Step[] = [];
  for (const line of lines) {
    const last = steps.at(-1);
    if (last && /^\s|^$/.test(line.text)) last.lines.push(line);
    else steps.push({ head: line, lines: [] });
  }
  return steps;
}
