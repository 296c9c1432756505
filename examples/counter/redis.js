/** One command to Redis and its answer, a number or a text; enough for an example, and needs no package. */
import { connect } from 'node:net';

const { STORE_HOST: host, STORE_PORT: port } = process.env;

export const redis = (...words) =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), host, () =>
      socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('')}`),
    );
    let answer = '';
    socket.setEncoding('utf8').on('error', reject);
    socket.on('data', (part) => {
      answer += part;
      if (!answer.endsWith('\r\n') || (answer.startsWith('$') && answer.split('\r\n').length < 3 && !answer.startsWith('$-1'))) return;
      socket.end();
      const [first, second] = answer.split('\r\n');
      if (first.startsWith('-')) reject(new Error(first));
      else resolve(first.startsWith(':') ? Number(first.slice(1)) : first.startsWith('$-1') ? null : (second ?? first.slice(1)));
    });
  });
