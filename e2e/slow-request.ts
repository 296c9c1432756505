/** A request that a client sends piece by piece, on a connection that it means to keep. */
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from './eventually.ts';

const answerSecondsMax = 60;
/** For the other side to have read what was written, most likely; where it must have, it is asked to say so. */
const settleMilliseconds = 200;
/** What the other side says when it has read the head of a request whose sender wants to know. */
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';

export interface SlowRequest extends Disposable {
  readonly received: string;
  send(text: string): Promise<void>;
  /** Until it is under way on the other side. */
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
    'Expect: 100-continue',
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
    async sendHalf() {
      socket.write(`${headers.join('\r\n')}\r\n\r\n${form.slice(0, half)}`);
      await eventually('the request is under way', () => received.startsWith(goOn), answerSecondsMax);
      received = received.slice(goOn.length);
    },
    sendRest: () => void socket.write(form.slice(half)),
    async answer() {
      await eventually('an answer comes', () => /\r\n\r\n[^]*\}/.test(received) || socket.closed, answerSecondsMax);
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
