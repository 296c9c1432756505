/** As much of AMQP 0-9-1 as it takes to put a message into a durable queue and to look at it. For tests. */
import { connect, type Socket } from 'node:net';

interface Credentials {
  name: string;
  password: string;
}

const frameEnd = 0xce;
const replyMilliseconds = 60_000;

export async function openAmqp(address: string, { name, password }: Credentials, vhost: string) {
  const socket = connect(5672, address);
  socket.setTimeout(replyMilliseconds, () => socket.destroy(new Error('RabbitMQ did not answer.')));
  const frames = readFrames(socket);
  const expectMethod = async (channelClass: number, method: number) => {
    for await (const { type, body } of frames) {
      const [gotClass, gotMethod] = [body.readUInt16BE(0), body.readUInt16BE(2)];
      if (type !== 1) continue;
      if (gotClass === channelClass && gotMethod === method) return body;
      throw new Error(body.toString('utf8', 4).replace(/[^\x20-\x7e]+/g, ' '));
    }
    throw new Error('ACCESS_REFUSED: the connection was closed');
  };
  const send = (channel: number, channelClass: number, method: number, ...parts: Buffer[]) =>
    socket.write(frame(1, channel, Buffer.concat([short(channelClass), short(method), ...parts])));

  socket.write(Buffer.from('AMQP\0\0\x09\x01', 'latin1'));
  await expectMethod(10, 10);
  const capability = Buffer.concat([shortText('authentication_failure_close'), Buffer.from('t\x01', 'latin1')]);
  const properties = Buffer.concat([shortText('capabilities'), Buffer.from('F'), longText(capability)]);
  send(0, 10, 11, longText(properties), shortText('PLAIN'), longText(Buffer.from(`\0${name}\0${password}`)), shortText('en_US'));
  await expectMethod(10, 30);
  send(0, 10, 31, short(1), long(131_072), short(0));
  send(0, 10, 40, shortText(vhost), shortText(''), Buffer.of(0));
  await expectMethod(10, 41);
  send(1, 20, 10, shortText(''));
  await expectMethod(20, 11);

  return {
    async publish(queue: string, message: string) {
      send(1, 50, 10, short(0), shortText(queue), Buffer.of(0b10), long(0));
      await expectMethod(50, 11);
      send(1, 85, 10, Buffer.of(0));
      await expectMethod(85, 11);
      send(1, 60, 40, short(0), shortText(''), shortText(queue), Buffer.of(0));
      const body = Buffer.from(message);
      const header = Buffer.concat([short(60), short(0), long(0), long(body.length), short(0x1000), Buffer.of(2)]);
      socket.write(Buffer.concat([frame(2, 1, header), frame(3, 1, body)]));
      await expectMethod(60, 80);
      socket.destroy();
    },
    /** Reads a message without acknowledging it, so it stays in the queue. */
    async peek(queue: string): Promise<string> {
      send(1, 60, 70, short(0), shortText(queue), Buffer.of(0));
      await expectMethod(60, 71);
      for await (const { type, body } of frames) {
        if (type !== 3) continue;
        socket.destroy();
        return body.toString();
      }
      throw new Error('There is no message.');
    },
  };
}

/** One iterator serves all who wait, in turn. */
function readFrames(socket: Socket) {
  async function* frames() {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of socket) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      while (rest.length >= 7 && rest.length >= 8 + rest.readUInt32BE(3)) {
        const size = rest.readUInt32BE(3);
        yield { type: rest.readUInt8(0), body: rest.subarray(7, 7 + size) };
        rest = rest.subarray(8 + size);
      }
    }
  }
  const all = frames();
  return { [Symbol.asyncIterator]: () => ({ next: () => all.next() }) };
}

const short = (value: number) => Buffer.of(value >> 8, value & 0xff);
function long(value: number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
const shortText = (value: string) => Buffer.concat([Buffer.of(Buffer.byteLength(value)), Buffer.from(value)]);
const longText = (value: Buffer) => Buffer.concat([long(value.length), value]);
const frame = (type: number, channel: number, body: Buffer) =>
  Buffer.concat([Buffer.of(type), short(channel), long(body.length), body, Buffer.of(frameEnd)]);
