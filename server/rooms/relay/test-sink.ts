/** The operator's mail server, in tests: a real one, which keeps what it is sent, and says what the test wants it to say. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { onTestFinished } from 'vitest';

export interface Arrived {
  from: string;
  to: string[];
  message: Buffer;
}

export interface Sink {
  url: string;
  arrived: Arrived[];
  /** What is answered to recipients, by their address, in place of taking them. */
  answers: Map<string, number>;
  close(): Promise<void>;
}

export async function openSink(port = 0): Promise<Sink> {
  const arrived: Arrived[] = [];
  const answers = new Map<string, number>();
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 1,
    onRcptTo: ({ address }, _, done) => {
      const responseCode = answers.get(address);
      done(responseCode === undefined ? null : Object.assign(new Error('as the test wants it'), { responseCode }));
    },
    onData: (stream, { envelope: { mailFrom, rcptTo } }, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        const to = rcptTo.map(({ address }) => address);
        arrived.push({ from: mailFrom ? mailFrom.address : '', to, message: Buffer.concat(chunks) });
        done();
      });
    },
  });
  server.on('error', () => {});
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const close = () =>
    new Promise<void>((resolve) => {
      if (server.server.listening) server.close(() => resolve());
      else resolve();
    });
  onTestFinished(close);
  return { url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`, arrived, answers, close };
}
