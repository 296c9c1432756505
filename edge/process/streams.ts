/** Lines of JSON, or bytes, to those who listen on the control socket. Who does not read what is sent is let go, so that no line is kept for ever. */
import type { ServerResponse } from 'node:http';

export interface Streams {
  add(response: ServerResponse): void;
  /** Resolves when all have room for more, or are gone, to how many it was sent to. */
  send(bytes: string | Buffer): Promise<number>;
  end(): void;
  readonly count: number;
}

const listenersMax = 16;
const slowSecondsMax = 5;

/** `first` is what a new listener is told at once. */
export function openStreams(
  type: 'application/x-ndjson' | 'application/octet-stream',
  first: () => string,
  onCount: (count: number) => void,
): Streams {
  const all = new Set<ServerResponse>();

  const sendTo = (response: ServerResponse, bytes: string | Buffer) => {
    if (response.write(bytes)) return Promise.resolve();
    return new Promise<void>((resolve) => {
      const letGo = setTimeout(() => response.destroy(), slowSecondsMax * 1000);
      const done = () => {
        clearTimeout(letGo);
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
    });
  };

  return {
    add(response) {
      if (all.size >= listenersMax) return void response.writeHead(429).end();
      response.writeHead(200, { 'content-type': type });
      response.flushHeaders();
      const told = first();
      if (told !== '') response.write(told);
      all.add(response);
      onCount(all.size);
      response.once('close', () => {
        all.delete(response);
        onCount(all.size);
      });
    },
    async send(bytes) {
      const sent = [...all].map((response) => sendTo(response, bytes));
      await Promise.all(sent);
      return sent.length;
    },
    end() {
      for (const response of all) response.end();
    },
    get count() {
      return all.size;
    },
  };
}
