/**
 * A shell over a WebSocket. A ticket is asked for first, as anything else is asked of the API; the WebSocket shows it among its subprotocols, so that it
 * stands in no address. Bytes go both ways as binary messages, sizes as text.
 */
import { deedOf, type Link } from '../api/link.ts';
import { request } from '../api/request.ts';

export interface TerminalListener {
  output(bytes: Uint8Array): void;
  /** With the exit code of the shell, if it ended by itself. */
  ended(exitCode: number | undefined): void;
}

export interface TerminalConnection {
  type(text: string): void;
  resize(columns: number, rows: number): void;
  close(): void;
}

/** Throws what the API refuses. */
export async function connectTerminal(link: Link, destination: string, listener: TerminalListener): Promise<TerminalConnection> {
  const { method, href } = await deedOf(link);
  const { ticket, path } = await request<{ ticket: string; path: string }>(method, href, { destination });
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url, ['offshoot.terminal', `ticket.${ticket}`]);
  socket.binaryType = 'arraybuffer';
  let exitCode: number | undefined;
  socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === 'string') exitCode = (JSON.parse(data) as { exit_code: number }).exit_code;
    else listener.output(new Uint8Array(data));
  });
  socket.addEventListener('close', () => listener.ended(exitCode));
  const opened = new Promise<void>((resolve) => socket.addEventListener('open', () => resolve()));
  const encoder = new TextEncoder();
  const send = (message: string | Uint8Array<ArrayBuffer>) =>
    void opened.then(() => socket.readyState === WebSocket.OPEN && socket.send(message));
  return {
    type: (text) => send(encoder.encode(text)),
    resize: (columns, rows) => send(JSON.stringify({ columns, rows })),
    close: () => socket.close(),
  };
}
