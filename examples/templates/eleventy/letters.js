/** Letters to the editor: a file of JSON lines on a mount, which each branch of the project has a copy of. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const file = 'letters/letters.jsonl';
const first = { from: 'A gardener', words: 'My moss has crossed the wall. It took nine years.' };
const escaped = (words) => words.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

if (!existsSync(file)) write(first);

const server = createServer((request, reply) => {
  if (request.method === 'POST') {
    void text(request).then((form) => {
      const sent = new URLSearchParams(form);
      write({ from: (sent.get('from') ?? '').slice(0, 100), words: (sent.get('words') ?? '').slice(0, 1000) });
      reply.writeHead(303, { location: '/letters' }).end();
    });
    return;
  }
  const letters = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  reply.setHeader('content-type', 'text/html; charset=utf-8').end(page(letters.toReversed()));
});
server.listen(process.env.PORT);

function write(letter) {
  appendFileSync(file, `${JSON.stringify(letter)}\n`);
}

const page = (letters) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Letters to the editor</title>
<link rel="stylesheet" href="/style.css">
<nav><a href="/">The Offshoot Magazine</a></nav>
<h1>Letters to the editor</h1>
<form method="post">
  <input name="from" required placeholder="Your name">
  <input name="words" required placeholder="What do you think?">
  <button>Send</button>
</form>
${letters.map(({ from, words }) => `<p><strong>${escaped(from)}</strong>: ${escaped(words)}</p>`).join('\n')}
`;
