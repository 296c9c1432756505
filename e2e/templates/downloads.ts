/**
 * What builds of one installation receive from outside, counted by the kernel: a table of nftables of our own, which sees what is forwarded to the
 * bridges of that installation and changes nothing. Answers of name servers count too.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export async function countDownloads(data: string) {
  const instance = readFileSync(join(data, 'runtime', 'instance'), 'utf8').trim();
  const table = `inet offshoot_downloads_${instance}`;
  const rules = `table ${table} {
  counter received { }
  chain forward {
    type filter hook forward priority -20; policy accept;
    iifname != "of-*" oifname "of-${instance}*" counter name received
  }
}
`;
  const nft = async (...args: string[]) => (await run('nft', args)).stdout;
  const fed = run('nft', ['-f', '-']);
  fed.child.stdin?.end(rules);
  await fed;
  return {
    bytes: async () => Number(/bytes (\d+)/.exec(await nft('list', 'counter', ...table.split(' '), 'received'))?.[1]),
    [Symbol.asyncDispose]: async () => void (await nft('delete', 'table', ...table.split(' '))),
  };
}
