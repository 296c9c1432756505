/** What the platform tells systemd, where that started it. Elsewhere none of this does anything. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const secondsMax = 10;

/** Tells systemd that the service is ready. Node has no Unix datagram sockets, so a program sends the message. */
export async function tellReady(status: string): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  await run('systemd-notify', ['--ready', `--status=${status}`], { timeout: secondsMax * 1000 });
  // Processes that the platform starts must not talk to systemd in its name.
  delete process.env['NOTIFY_SOCKET'];
}
