/**
 * The first message of a client, as far as it has come. It may come in many pieces, of the network and of TLS, and says what the client wants only as a whole.
 */

const [handshakeRecord, clientHello] = [22, 1];
const [recordHeadBytes, messageHeadBytes] = [5, 4];
/** Browsers send some 2 KiB. */
export const helloBytesMax = 16 * 1024;

/** - more: it is not whole yet. - none: it is something else, or larger than it may be. */
export function readClientHello(bytes: Buffer): Buffer | 'more' | 'none' {
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = 0; at + recordHeadBytes <= bytes.length;) {
    const end = at + recordHeadBytes + bytes.readUInt16BE(at + 3);
    if (bytes[at] !== handshakeRecord || end === at + recordHeadBytes) return 'none';
    const part = bytes.subarray(at + recordHeadBytes, end);
    parts.push(part);
    length += part.length;
    at = end;
  }
  const message = Buffer.concat(parts, length);
  if (length > 0 && message[0] !== clientHello) return 'none';
  const whole = length < messageHeadBytes ? Infinity : messageHeadBytes + message.readUIntBE(1, 3);
  if (length >= whole) return message.subarray(0, whole);
  return bytes.length >= helloBytesMax || (bytes.length > 0 && bytes[0] !== handshakeRecord) ? 'none' : 'more';
}
