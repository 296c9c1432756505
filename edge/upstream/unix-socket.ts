/**
 * Connecting to a socket that an application made, in a folder that is its own. It may put a link there, to a socket of somebody else, at any time and
 * on any part of the path; and the edge may enter everywhere. So the file is taken hold of first, without a link at its end; what is held must be a
 * socket and be at the very place that the table says; and what is connected to is what is held.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { connect, Socket, type OnReadOpts } from 'node:net';
import { isAt, onlyPath } from '../files/proven-path.ts';

/** Where nobody can be connected to, the socket is destroyed with the reason. */
export function connectToSocketAt(path: string, onread?: OnReadOpts): Socket {
  let held: number | undefined;
  try {
    held = openSync(path, onlyPath | constants.O_NOFOLLOW);
    if (!fstatSync(held).isSocket() || !isAt(held, path)) return unconnected('it is not a socket, or behind a link');
    const itself = `/proc/self/fd/${held}`;
    // `connect` has done its work when it returns, so the descriptor is not needed any longer.
    return connect(onread ? { path: itself, onread } : { path: itself });
  } catch (error) {
    return unconnected(error instanceof Error ? error.message : 'unknown');
  } finally {
    if (held !== undefined) closeSync(held);
  }
}

const unconnected = (reason: string) => new Socket().destroy(new Error(reason));
