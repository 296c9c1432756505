/**
 * What TLS costs at the edge, against nginx with the same certificate, turn by turn in one run and in front of the same program: processor time for a reply of
 * 100 bytes on connections that are kept, over HTTP/1.1 and over HTTP/2 with a hundred streams, and for handshakes, new and resumed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testAuthority } from '../edge/testing/certificates.ts';
import { freePort } from '../edge/testing/ports.ts';
import { median } from './harness/platform.ts';
import { ensurePrograms } from './harness/programs.ts';
import { nginxForward, openBench, processorSeconds, type Proxy } from './harness/proxies.ts';
import { note, printTable } from './harness/verdicts.ts';

const rounds = 3;
const runSeconds = 4;
/** Node compiles what has run often: before it is measured, a proxy has served so much, however few seconds a busy machine leaves for that. */
const warmUp = { replies: 50_000, handshakes: 5000, loadsMax: 10 };
const host = 'app-0.test';

const programs = ensurePrograms({ nginx: 'nginx-light', wrk: 'wrk', h2load: 'nghttp2-client', openssl: 'openssl' });

async function output(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  await once(child, 'close');
  return text;
}

/** Each answers how many were served. */
const loads = {
  'a reply of 100 bytes over HTTP/1.1': async (port: number) => {
    const told = await output(programs.wrk, ['-t1', '-c32', `-d${runSeconds}`, '-H', `Host: ${host}`, `https://127.0.0.1:${port}/`]);
    if (/Socket errors|Non-2xx/.test(told)) throw new Error(told);
    return Number(/(\d+) requests in/.exec(told)?.[1]);
  },
  'a reply of 100 bytes over HTTP/2': async (port: number) => {
    const words = ['-c4', '-m100', `-D${runSeconds}`, '--warm-up-time=1', `--connect-to=127.0.0.1:${port}`, `https://${host}:${port}/`];
    const found = /requests: .*?(\d+) succeeded, (\d+) failed/.exec(await output(programs.h2load, words));
    if (found?.[2] !== '0') throw new Error(`${found?.[2]} requests failed`);
    return Number(found[1]);
  },
  'a new handshake': (port: number) => handshakes(port, '-new'),
  'a resumed handshake': (port: number) => handshakes(port, '-reuse'),
};

async function handshakes(port: number, kind: string): Promise<number> {
  const text = await output(programs.openssl, ['s_time', '-connect', `127.0.0.1:${port}`, kind, '-time', String(runSeconds), '-tls1_2']);
  return Number(/(\d+) connections in [\d.]+ real seconds/.exec(text)?.[1]);
}

/** The most that the edge may take of what nginx takes. */
const targets: Record<keyof typeof loads, number> = {
  'a reply of 100 bytes over HTTP/1.1': 1.6,
  'a reply of 100 bytes over HTTP/2': 2,
  'a new handshake': 1 / 0.7,
  'a resumed handshake': 1 / 0.7,
};

await using bench = await openBench(programs.nginx);
const [appPort, nginxPort, plainPort, edgePort] = [await freePort(), await freePort(), await freePort(), await freePort()];
const { certificate, key } = testAuthority().issue([host]);
const [certificateFile, keyFile] = [join(bench.scratch, 'certificate.pem'), join(bench.scratch, 'key.pem')];
await Promise.all([writeFile(certificateFile, certificate), writeFile(keyFile, key)]);
await bench.startApp('app', appPort);
const secure = `ssl_certificate ${certificateFile}; ssl_certificate_key ${keyFile}; ssl_session_tickets on; ssl_session_cache shared:a:10m;`;
const forward = nginxForward(host, appPort, `127.0.0.1:${nginxPort} ssl http2`);
const nginx = await bench.startNginx('nginx', nginxPort, `access_log ${bench.scratch}/access.log; ${secure} ${forward}`);
process.env.BENCH_TLS = [edgePort, certificateFile, keyFile].join(',');
const edgeProgram = join(import.meta.dirname, 'harness', 'edge-process.ts');
const edge = await bench.start(plainPort, process.execPath, [edgeProgram, String(plainPort), join(bench.scratch, 'logs'), String(appPort)]);
const proxies: Proxy[] = [
  { name: 'nginx', port: nginxPort, child: nginx },
  { name: 'edge', port: edgePort, child: edge },
];

for (const [what, load] of Object.entries(loads)) {
  const costs: Record<string, number[]> = { nginx: [], edge: [] };
  const warmUpMin = what.includes('handshake') ? warmUp.handshakes : warmUp.replies;
  for (const { port } of proxies) {
    for (let served = 0, nth = 0; served < warmUpMin && nth < warmUp.loadsMax; nth++) served += await load(port);
  }
  for (let round = 0; round < rounds; round++) {
    for (const { name, port, child } of proxies) {
      const before = processorSeconds(child);
      const served = await load(port);
      costs[name]?.push(((processorSeconds(child) - before) * 1e6) / served);
    }
  }
  const [ofNginx, ofEdge] = [median(costs.nginx ?? []), median(costs.edge ?? [])];
  const target = targets[what as keyof typeof loads];
  const measured = `${(ofEdge / ofNginx).toFixed(2)} of nginx (${ofEdge.toFixed(1)} and ${ofNginx.toFixed(1)} us of processor)`;
  note({ what, measured, target: `at most ${target.toFixed(2)}`, isMet: ofEdge / ofNginx <= target });
}
printTable();
