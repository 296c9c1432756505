/** What was measured, line by line: told as it comes, and at the end as a table with what was aimed at. */
export interface Line {
  what: string;
  measured: string;
  target?: string;
  isMet?: boolean;
}

const lines: Line[] = [];

export const note = (line: Line) => {
  lines.push(line);
  console.error(`${line.what}: ${line.measured}`);
};

export function printTable() {
  const width = (of: (line: Line) => string) => Math.max(...lines.map((line) => of(line).length));
  const [first, second] = [width(({ what }) => what), width(({ target = '' }) => target)];
  for (const { what, measured, target = '', isMet } of lines) {
    const verdict = isMet === undefined ? '' : isMet ? 'ok' : 'MISSED';
    console.log(`${what.padEnd(first)}  ${target.padEnd(second)}  ${verdict.padEnd(6)}  ${measured}`);
  }
  if (lines.some(({ isMet }) => isMet === false)) process.exitCode = 1;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
