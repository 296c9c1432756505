/** A name server that answers each question for an IPv4 address with the next of its answers, and the last one from then on; of IPv6 it knows nothing. */
import { createSocket } from 'node:dgram';

const headerBytes = 12;
const typeA = 1;

export async function openTestNameServer(addresses: readonly string[]) {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, { port, address }) => {
    const { name, end, type } = readQuestion(question);
    const answer = type === typeA ? (addresses[Math.min(asked.length, addresses.length - 1)] ?? '') : undefined;
    if (answer !== undefined) asked.push(name);
    socket.send(replyTo(question.subarray(0, end), answer), port, address);
  });
  await new Promise<void>((resolve) => void socket.bind(0, '127.0.0.1', resolve));
  return {
    server: `127.0.0.1:${socket.address().port}`,
    /** The names whose IPv4 address was asked for. */
    asked,
    close: () => void socket.close(),
  };
}

function readQuestion(message: Buffer) {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** The question, with one answer behind it or with none; nobody may keep it. */
function replyTo(question: Buffer, address: string | undefined): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x81_80, 2);
  head.writeUInt16BE(address === undefined ? 0 : 1, 6);
  head.fill(0, 8, headerBytes);
  if (address === undefined) return head;
  const fixed = Buffer.from([0xc0, headerBytes, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4]);
  return Buffer.concat([head, fixed, Buffer.from(address.split('.').map(Number))]);
}
