/** What the platform tells systemd, where that started it. Elsewhere none of this does anything. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const secondsMax = 10;

/** Whoever waits for the service goes on from here. Node has no datagram sockets of Unix, hence the program. */
export async function tellReady(status: string): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  await run('systemd-notify', ['--ready', `--status=${status}`], { timeout: secondsMax * 1000 });
  // What we start is no part of that conversation.
  delete process.env['NOTIFY_SOCKET'];
}
