/** Readers of streams of events, in a process of their own: it says when all are open, and in the end how many changes they heard. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

const { url, streamsOfEach, tokens } = JSON.parse(process.argv[2] ?? '{}') as { url: string; streamsOfEach: number; tokens: string[] };
let heard = 0;

/** From one address only so many connections are taken, so there are two. */
async function follow(authorization: string, n: number) {
  const request = get(`${url}/events`, { headers: { authorization }, localAddress: `127.0.0.${2 + (n % 2)}`, agent: false });
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  if (reply.statusCode !== 200) throw new Error(`The stream was answered with ${reply.statusCode}`);
  reply.setEncoding('utf8').on('data', (text: string) => (heard += text.split('event: change').length - 1));
}

for (const [n, token] of tokens.entries()) await Promise.all(Array.from({ length: streamsOfEach }, (_, each) => follow(token, n + each)));
console.log('open');
process.stdin.resume();
await once(process.stdin, 'end');
process.stdout.write(`${JSON.stringify({ heard })}\n`, () => process.exit());
