/** Those who write and follow a log, for bench/logs.ts: says `ready`, and in the end how many lines are missing and how long they took. */
import { appendFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './platform.ts';

interface Told {
  url: string;
  authorization: string;
  file: string;
  readers: number;
  rate: number;
  seconds: number;
}

const { url, authorization, file, readers, rate, seconds } = JSON.parse(process.argv[2] ?? '') as Told;
const writesPerSecondMax = 100;
const arriveSecondsMax = 10;

const delays: number[] = [];
const received: number[] = Array.from({ length: readers }, () => 0);

function receive(reader: number, reply: IncomingMessage) {
  let rest = '';
  reply.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    received[reader] = (received[reader] ?? 0) + lines.length;
    if (reader === 0) for (const line of lines) delays.push(Date.now() - Number(line.split(' ', 1)[0]));
  });
}

// The first line tells that a reader is there.
appendFileSync(file, `${Date.now()} here we go\n`);
await Promise.all(
  received.map(
    (_, reader) =>
      new Promise<void>((resolve) => {
        get(url, { headers: { authorization }, agent: false }, (reply) => {
          receive(reader, reply);
          resolve();
        });
      }),
  ),
);
while (received.some((count) => count === 0)) await sleep(50);
received.fill(0);
delays.length = 0;
console.log('ready');

const linesPerWrite = Math.ceil(rate / writesPerSecondMax);
let written = 0;
for (const until = Date.now() + seconds * 1000; Date.now() < until; await sleep((1000 * linesPerWrite) / rate)) {
  appendFileSync(file, `${Date.now()} an app says something, as apps do, about what it is doing just now\n`.repeat(linesPerWrite));
  written += linesPerWrite;
}
for (const until = Date.now() + arriveSecondsMax * 1000; Date.now() < until && received.some((count) => count < written);) await sleep(50);
console.log(JSON.stringify({ missing: received.reduce((sum, count) => sum + written - count, 0), delay: median(delays) }));
process.exit();
