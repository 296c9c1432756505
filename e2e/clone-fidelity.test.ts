/** A branch holds what its parent held at one moment, however busy that is: nothing that was acknowledged is missing, and nothing is torn. */
import { expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../server/testing/images.ts';
import { createInstallation, plainHttp } from './installation.ts';
import { journalFiles } from './kinds-of-stacks.ts';
import { firstPerson, openProject, read } from './open-project.ts';
import { visit } from './visit.ts';

const testMilliseconds = 300_000;
const branches = ['first', 'second', 'third'];

/** One entry after the other, from 1; the last that was acknowledged is known at every moment. */
function writeConstantly(address: string) {
  let acknowledged = 0;
  const stopping = new AbortController();
  const write = async () => {
    while (!stopping.signal.aborted) {
      const { status, text } = await visit(new URL(`/?n=${acknowledged + 1}`, address).href, { method: 'POST' });
      if (status !== 200 || text !== String(acknowledged + 1)) throw new Error(`Entry ${acknowledged + 1} was answered ${status} ${text}`);
      acknowledged += 1;
    }
  };
  const writing = write();
  writing.catch(() => {});
  return {
    get acknowledged() {
      return acknowledged;
    },
    async stop() {
      stopping.abort();
      await writing;
      return acknowledged;
    },
  };
}

interface State {
  rows: number;
  lastRow: number;
  tornRows: number;
  files: number;
  lastFile: number;
  torn: number[];
}

test.runIf(canRunContainers)(
  `branches of an environment that is being written to hold a beginning of what was written, with all that was acknowledged${whyNoContainers}`,
  { timeout: testMilliseconds },
  async () => {
    await using installation = await createInstallation(plainHttp);
    const journal = await openProject(await firstPerson(installation.url, await installation.start()));
    await journal.write(journalFiles, 'First');
    await journal.push('main');
    const main = await journal.address('main');
    const stateOf = async (address: string): Promise<State> => JSON.parse(await read(address, '/state'));
    const writer = writeConstantly(main);
    for (const name of branches) {
      const before = writer.acknowledged;
      await journal.act('/environments/main/branch', { name });
      const state = await stateOf(await journal.address(name));
      const after = writer.acknowledged;
      expect(after).toBeGreaterThan(before);
      expect(state).toMatchObject({ rows: state.lastRow, tornRows: 0, files: state.lastFile, torn: [] });
      expect(state.lastRow).toBeGreaterThanOrEqual(before);
      expect(state.lastRow).toBeLessThanOrEqual(after + 1);
      // Of one moment: no file without its row, and at most one row whose file was still to come.
      expect([state.lastRow, state.lastRow - 1]).toContain(state.lastFile);
    }
    const acknowledged = await writer.stop();
    expect(await stateOf(main)).toEqual({
      rows: acknowledged,
      lastRow: acknowledged,
      tornRows: 0,
      files: acknowledged,
      lastFile: acknowledged,
      torn: [],
    });
    expect(acknowledged).toBeGreaterThan(branches.length);
  },
);
