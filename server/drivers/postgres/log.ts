/**
 * What PostgreSQL says, in a file that never grows past a bound: when full it becomes `<name>.1`, replacing the one before. The last lines
 * are kept in memory too, for the sentence that says why PostgreSQL did not start.
 */
import { appendFileSync, existsSync, renameSync, statSync } from 'node:fs';

const fileBytesMax = 5_000_000;
const tailCharactersMax = 4000;
const tailLinesMax = 12;

export class BoundedLog {
  readonly path: string;
  private bytes: number;
  private recent = '';

  constructor(path: string) {
    this.path = path;
    this.bytes = existsSync(path) ? statSync(path).size : 0;
  }

  write(chunk: Buffer) {
    this.recent = (this.recent + chunk.toString()).slice(-tailCharactersMax);
    try {
      if (this.bytes > fileBytesMax) {
        renameSync(this.path, `${this.path}.1`);
        this.bytes = 0;
      }
      appendFileSync(this.path, chunk, { mode: 0o600 });
      this.bytes += chunk.length;
    } catch {
      // A full disk must not end the platform through its database's log.
    }
  }

  tail(): string {
    return this.recent.trimEnd().split('\n').slice(-tailLinesMax).join('\n');
  }
}
