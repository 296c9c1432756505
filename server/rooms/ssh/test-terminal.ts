/** A terminal as a browser opens it, for tests. */
import { once } from 'node:events';
import { WebSocket } from 'ws';

export interface TestTerminal {
  /** What was said so far. */
  said(): string;
  type(text: string): void;
  resize(columns: number, rows: number): void;
  /** When it is over: all that was said, and the exit code, if the shell has ended by itself. */
  closed: Promise<{ said: string; exitCode: number | undefined }>;
  leave(): void;
}

export async function openTestTerminal(address: string, origin: string, ticket: string): Promise<TestTerminal> {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/terminal`, ['offshoot.terminal', `ticket.${ticket}`], { origin });
  let [said, exitCode]: [string, number | undefined] = ['', undefined];
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) said += data.toString();
    else exitCode = (JSON.parse(data.toString()) as { exit_code: number }).exit_code;
  });
  const closed = once(socket, 'close').then(() => ({ said, exitCode }));
  await once(socket, 'open');
  return {
    said: () => said,
    type: (text) => socket.send(Buffer.from(text)),
    resize: (columns, rows) => socket.send(JSON.stringify({ columns, rows })),
    closed,
    leave: () => socket.close(),
  };
}
