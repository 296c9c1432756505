/** What benches of the edge compare: programs that pass requests on to the same application, each measured by the processor time that it takes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Proxy {
  name: string;
  port: number;
  child: ChildProcess;
}

export interface Bench extends AsyncDisposable {
  /** A folder that is removed at the end. */
  scratch: string;
  /** Resolves when it listens. Ended at the end. */
  start(port: number, program: string, args: string[]): Promise<ChildProcess>;
  startNginx(name: string, port: number, http: string): Promise<ChildProcess>;
  /** Answers with 100 bytes, and with 1 MiB at `/large`. */
  startApp(name: string, port: number): Promise<ChildProcess>;
}

const clockTicksPerSecond = 100;

export async function openBench(nginx: string): Promise<Bench> {
  const scratch = await mkdtemp(join(tmpdir(), 'offshoot-bench-'));
  const children: ChildProcess[] = [];
  const start = async (port: number, program: string, args: string[]) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', program === process.execPath ? 'inherit' : 'ignore'],
      env: { ...process.env, HOME: scratch },
    });
    children.push(child);
    for (let attempt = 0; attempt < 200; attempt++) {
      const socket = connect(port, '127.0.0.1');
      const isThere = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (isThere) return child;
      await sleep(50);
    }
    throw new Error(`${program} does not listen`);
  };
  const startNginx = async (name: string, port: number, http: string) => {
    const file = join(scratch, `${name}.conf`);
    await writeFile(file, nginxSettings(scratch, name, http));
    return start(port, nginx, ['-c', file]);
  };
  return {
    scratch,
    start,
    startNginx,
    async startApp(name, port) {
      const body = '0123456789'.repeat(10);
      await mkdir(join(scratch, 'files'), { recursive: true });
      await writeFile(join(scratch, 'files', 'large'), Buffer.alloc(1024 ** 2, 'x'));
      return startNginx(
        name,
        port,
        `access_log off; sendfile on; server { listen 127.0.0.1:${port}; location /large { root ${scratch}/files; } location / { default_type text/plain; return 200 "${body}"; } }`,
      );
    },
    async [Symbol.asyncDispose]() {
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        await gone;
      }
      await rm(scratch, { recursive: true });
    },
  };
}

const nginxSettings = (scratch: string, name: string, http: string) =>
  `${process.getuid?.() === 0 ? 'user root; ' : ''}daemon off; worker_processes 1; pid ${scratch}/${name}.pid; error_log ${scratch}/${name}.err; events { worker_connections 8192; }
  http { keepalive_requests 1000000000; client_body_temp_path ${scratch}/${name}-body; proxy_temp_path ${scratch}/${name}-proxy;
  fastcgi_temp_path ${scratch}/a; uwsgi_temp_path ${scratch}/b; scgi_temp_path ${scratch}/c; ${http} }`;

/** The whole server block of nginx that passes requests for the host on, with what the edge tells applications. */
export const nginxForward = (host: string, to: number, listen: string) =>
  `upstream ${host} { server 127.0.0.1:${to}; keepalive 256; keepalive_requests 1000000000; }
    server { listen ${listen}; server_name ${host}; location / { proxy_pass http://${host}; proxy_http_version 1.1; proxy_set_header Connection "";
    proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Client-IP $remote_addr; proxy_set_header X-Request-Id $request_id; add_header X-Request-Id $request_id; } }`;

type Measured = Pick<ChildProcess, 'pid'>;

const withChildren = ({ pid }: Measured) => [pid, ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)];

/** Of the process and its children, in seconds. */
export function processorSeconds(child: Measured): number {
  return withChildren(child).reduce<number>((sum, each) => {
    const fields = readFileSync(`/proc/${each}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
  }, 0);
}

export function residentBytes(child: Measured): number {
  return withChildren(child).reduce<number>(
    (sum, each) => sum + Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'))?.[1]) * 1024,
    0,
  );
}
