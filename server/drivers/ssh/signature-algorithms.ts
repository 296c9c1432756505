/**
 * Tells clients which signatures are taken here (RFC 8308, `server-sig-algs`). The list that ssh2 sends by itself lacks a comma between two names, names two
 * that are never taken, and cannot be set; so this message of its is replaced on the way out.
 */
import type { Connection } from 'ssh2';
import { signatureAlgorithms } from './signature.ts';
import { string, uint32 } from './wire.ts';

const extensionInfo = 7;

/** Internals of ssh2. Packets pass `finalize` before they are encrypted; the end of the first handshake brings a new packet writer. */
interface Inside {
  _protocol: {
    _onHandshakeComplete(...negotiated: unknown[]): void;
    _packetRW: { write: { allocStart: number; alloc(bytes: number): Buffer; finalize(packet: Buffer): Buffer } };
  };
}

export function tellSignatureAlgorithms(client: Connection): void {
  const { _protocol: protocol } = client as unknown as Inside;
  const complete = protocol._onHandshakeComplete;
  protocol._onHandshakeComplete = (...negotiated) => {
    const { write } = protocol._packetRW;
    const { alloc, allocStart, finalize } = write;
    write.finalize = (packet) => {
      if (packet[allocStart] !== extensionInfo) return finalize.call(write, packet);
      const ours = alloc.call(write, message.length);
      ours.set(message, allocStart);
      return finalize.call(write, ours);
    };
    complete(...negotiated);
    write.finalize = finalize;
  };
}

const message = Buffer.concat([Buffer.from([extensionInfo]), uint32(1), string('server-sig-algs'), string(signatureAlgorithms.join(','))]);
