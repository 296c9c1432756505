import { expect, test } from 'vitest';
import type { ReplyHead } from './reply-head.ts';
import { HttpReplyReader } from './reply-reader.ts';

const limits = { replyHeadBytesMax: 500, replyHeaderLinesMax: 20 };
const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1');

const replies: Record<string, string> = {
  'a reply with a length': `HTTP/1.1 200 OK\r\nContent-Length: 256\r\nX-App: yes\r\n\r\n${everyByte}`,
  'a reply without a body': 'HTTP/1.1 204 No Content\r\nX-App: yes\r\n\r\n',
  'a reply after an announcement': `HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello`,
  'a reply in chunks, with a trailer': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n${everyByte}\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n`,
  'a reply until the end': `HTTP/1.1 200 OK\r\n\r\n${everyByte}`,
  'another protocol': `HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\n\r\n${everyByte}`,
  'more than it has': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'a head that is too large': `HTTP/1.1 200 OK\r\nX-App: ${'x'.repeat(600)}\r\n\r\n`,
  'a head without end': `HTTP/1.1 200 OK\r\nX-App: ${'x'.repeat(600)}`,
  'a line end that is none': 'HTTP/1.1 200 OK\r\nX-App: a\nb\r\nContent-Length: 0\r\n\r\n',
  'no HTTP': 'hello\r\n\r\n',
};

/** All that is told of a reply that comes in these pieces: heads, body, and how it ended. Of one that is refused, what came before is no matter. */
function told(pieces: string[], read: (reader: HttpReplyReader, piece: string) => void): unknown[] {
  const heads: ReplyHead[] = [];
  let [body, end] = ['', ''];
  const reader = new HttpReplyReader(
    {
      onHead: (head) => void heads.push(head),
      onReplyBody: (piece) => void (body += typeof piece === 'string' ? piece : piece.toString('latin1')),
      onReplyEnd: (trailers) => void (end ||= `whole ${trailers}`),
      onBadReply: (reason) => void (end = reason),
    },
    false,
    limits,
  );
  for (const piece of pieces) read(reader, piece);
  return [heads, body, end];
}

const asBytes = (reader: HttpReplyReader, piece: string) => reader.read(Buffer.from(piece, 'latin1'));
const asText = (reader: HttpReplyReader, piece: string) => (reader.takesText ? reader.readText(piece) : asBytes(reader, piece));
let turn = 0;
const inTurn = (reader: HttpReplyReader, piece: string) => (turn++ % 2 === 0 ? asText : asBytes)(reader, piece);

test.each(Object.entries(replies))('%s: the same read as text and as bytes, at once and in pieces that end anywhere', (_name, reply) => {
  const atOnce = told([reply], asBytes);
  expect(told([reply], asText)).toEqual(atOnce);
  for (let cut = 1; cut < reply.length; cut++) {
    const pieces = [reply.slice(0, cut), reply.slice(cut)];
    const inBytes = told(pieces, asBytes);
    expect(told(pieces, asText)).toEqual(inBytes);
    expect(told(pieces, inTurn)).toEqual(inBytes);
  }
  const single = told(reply.split(''), asBytes);
  expect(told(reply.split(''), asText)).toEqual(single);
});
