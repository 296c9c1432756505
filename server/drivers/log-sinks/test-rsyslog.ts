/** A real syslog server to test with: rsyslog of Debian, brought as programs of images are, so nothing is installed on the machine. It writes each message that it takes as a line of JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { testImagesFolder } from '../../testing/images.ts';
import { freePort } from '../certificates/test-ports.ts';
import { openImages } from '../images/cached-images.ts';
import type { ImageTypes } from '../images/image-types.ts';

export { canRunContainers as canBringRsyslog, whyNoContainers as whyNoRsyslog } from '../../testing/images.ts';

const into = '/opt/syslog-tests';
const modules = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/rsyslog`;
/** Modules are brought as programs are: with all libraries that they need, into the same folder. */
const moduleNames = ['lmnet', 'lmnetstrms', 'lmtcpsrv', 'lmtcpclt', 'lmnsd_ptcp', 'lmnsd_ossl', 'imtcp', 'imudp'];
const catalogue: ImageTypes = {
  'syslog-tests': {
    versions: [
      {
        version: '1',
        recipes: [
          {
            kind: 'debian-apart',
            suite: 'trixie',
            revision: '2026-11',
            packages: ['rsyslog', 'rsyslog-openssl'],
            into,
            programs: ['/usr/sbin/rsyslogd', ...moduleNames.map((name) => `${modules}/${name}.so`)],
          },
        ],
      },
    ],
  },
};

/** A message as rsyslog understood it. */
export interface TakenMessage {
  input: string;
  priority: string;
  time: string;
  host: string;
  app: string;
  id: string;
  data: string;
  tag: string;
  message: string;
}

interface Ports {
  tcp: number;
  tls: number;
  udp: number;
}

const settings = (folder: string, { tcp, tls, udp }: Ports) => `
global(workDirectory="${folder}" maxMessageSize="64k" net.enableDNS="off" parser.escapeControlCharactersOnReceive="off"
       defaultNetstreamDriverCAFile="${folder}/root.pem" defaultNetstreamDriverCertFile="${folder}/certificate.pem"
       defaultNetstreamDriverKeyFile="${folder}/key.pem")
module(load="imtcp")
module(load="imudp")
template(name="taken" type="list" option.jsonf="on") {
  property(outname="input" name="inputname" format="jsonf")
  property(outname="priority" name="pri" format="jsonf")
  property(outname="time" name="timereported" dateformat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="app" name="app-name" format="jsonf")
  property(outname="id" name="msgid" format="jsonf")
  property(outname="data" name="structured-data" format="jsonf")
  property(outname="tag" name="syslogtag" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
input(type="imtcp" address="127.0.0.1" port="${tcp}" name="tcp")
input(type="imtcp" address="127.0.0.1" port="${tls}" name="tls" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon")
input(type="imudp" address="127.0.0.1" port="${udp}" name="udp")
action(type="omfile" file="${folder}/taken" template="taken")
`;

const saidCharactersMax = 20_000;

/** `certificate` is shown to those who connect by TLS. The same ports can be had again, by another server. */
export async function openTestRsyslog({ root, keyed }: { root: string; keyed: { certificate: string; key: string } }, known?: Ports) {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-syslog-'));
  const ports = known ?? { tcp: await freePort(), tls: await freePort(), udp: await freePort() };
  const files = { 'root.pem': root, 'certificate.pem': keyed.certificate, 'key.pem': keyed.key, 'rsyslog.conf': settings(folder, ports) };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { layers } = await openImages(testImagesFolder, catalogue).ensure('syslog-tests:1');
  const [programs, libraries] = ['bin', 'lib'].map((name) => join(layers.at(-1) as string, into, name)) as [string, string];
  const args = ['-n', '-f', join(folder, 'rsyslog.conf'), '-i', join(folder, 'pid'), '-M', programs];
  const child = spawn(join(libraries, 'loader'), ['--library-path', libraries, join(programs, 'rsyslogd'), ...args], { stdio: 'pipe' });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidCharactersMax)));
  const ended = once(child, 'exit');
  while (!(await isListening(ports.tcp)) || !(await isListening(ports.tls))) {
    if (child.exitCode !== null) throw new Error(said);
    await pause(50);
  }
  return {
    ports,
    said: () => said,
    taken: (): TakenMessage[] => (existsSync(join(folder, 'taken')) ? messagesIn(readFileSync(join(folder, 'taken'), 'utf8')) : []),
    close: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const messagesIn = (text: string): TakenMessage[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as TakenMessage);

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => resolve(false));
  });
