/** A request that a client sends piece by piece, on a connection that it means to keep. */
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from './eventually.ts';

const answerSecondsMax = 20;
/** For the other side to have read what was written. */
const settleMilliseconds = 200;

export interface SlowRequest extends Disposable {
  readonly received: string;
  send(text: string): Promise<void>;
  sendHalf(): Promise<void>;
  sendRest(): void;
  answer(): Promise<string>;
}

/** Connects, and says nothing yet; then a token exchange with the given form can be sent. */
export async function openRequest(port: number, form: string): Promise<SlowRequest> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  const half = Math.floor(form.length / 2);
  const headers = [
    'POST /oauth2/token HTTP/1.1',
    'Host: offshoot',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
  ];
  const send = async (text: string) => {
    socket.write(text);
    await sleep(settleMilliseconds);
  };
  return {
    get received() {
      return received;
    },
    send,
    sendHalf: () => send(`${headers.join('\r\n')}\r\n\r\n${form.slice(0, half)}`),
    sendRest: () => void socket.write(form.slice(half)),
    async answer() {
      await eventually('an answer comes', () => /\r\n\r\n[^]*\}/.test(received) || socket.closed, answerSecondsMax);
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
