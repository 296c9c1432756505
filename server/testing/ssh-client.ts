/** OpenSSH's own programs, as people have them, for a door on this machine. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import ssh2 from 'ssh2';
import type { Person } from './platform.ts';

const secondsMax = 80;

export interface SshEnded {
  code: number;
  stdout: Buffer;
  stderr: string;
}

export function openSshClient(folder: string, ssh: { port: number; hostKey: string }) {
  writeFileSync(join(folder, 'known_hosts'), `[127.0.0.1]:${ssh.port} ${ssh.hostKey}\n`);
  const path = (name: string) => join(folder, name);
  const options = (key: string) =>
    [
      ['-F', 'none', '-i', path(key)],
      ['-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none', '-o', 'BatchMode=yes', '-o', `Port=${ssh.port}`],
      ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${path('known_hosts')}`],
    ].flat();

  const start = (program: string, args: readonly string[]): ChildProcessByStdio<Writable, Readable, Readable> =>
    spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder } });
  const run = async (program: string, args: readonly string[], input: string | Buffer = ''): Promise<SshEnded> => {
    const child = start(program, args);
    const late = setTimeout(() => child.kill('SIGKILL'), secondsMax * 1000);
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const code = new Promise<number>((resolve) => child.once('close', (ended) => resolve(ended ?? 255)));
    const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
    clearTimeout(late);
    return { code: await code, stdout, stderr: stderr.toString() };
  };

  return {
    path,
    options,
    start,
    run,
    newKey: async (name: string): Promise<string> => {
      await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path(name)]);
      return readFileSync(`${path(name)}.pub`, 'utf8').trim();
    },
    /** Gives the person a key that the programs sign in with; answers with its id. */
    async addKey(person: Person, name: string): Promise<number> {
      const { status, json } = await person.send('POST', '/ssh_keys', { value: await this.newKey(name) });
      if (status !== 201) throw new Error(`The key was not taken: ${JSON.stringify(json)}`);
      return json.key_id;
    },
    /** Sends names and commands that the programs of OpenSSH would not send. */
    raw: (key: string, username: string, command: string) =>
      new Promise<{ code: number; output: string; errors: string }>((resolve, reject) => {
        const connection = new ssh2.Client();
        const privateKey = readFileSync(path(key));
        connection.once('error', reject).once('ready', () =>
          connection.exec(command, (error, channel) => {
            if (error) return reject(error);
            let [output, errors] = ['', ''];
            channel.on('data', (chunk: Buffer) => (output += chunk.toString()));
            channel.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
            channel.once('close', (code: number) => {
              connection.end();
              resolve({ code, output, errors });
            });
          }),
        );
        connection.connect({ host: '127.0.0.1', port: ssh.port, username, privateKey });
      }),
    ssh: (key: string, args: readonly string[], input?: string | Buffer) => run('ssh', [...options(key), ...args], input),
  };
}

export type SshClient = ReturnType<typeof openSshClient>;
