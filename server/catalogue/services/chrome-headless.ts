/**
 * A browser without a window, driven over its debugging protocol. It keeps nothing. Its own sandbox needs rights that containers do not have, so the container
 * is the only wall around the pages that it opens.
 */
import type { DebianPackages } from '../../drivers/images/recipe.ts';
import { packages, trixie } from '../debian.ts';
import type { ServiceEntry } from '../entry.ts';
import type { Service } from '../service.ts';

const port = 9222;
/** The browser listens inside the container only, whatever it is told, so a forwarder stands before it. */
const innerPort = 9223;
const startScript = `
socat TCP-LISTEN:${port},fork,reuseaddr TCP:127.0.0.1:${innerPort} &
exec "$@"
`;

const service: Service = {
  ports: [port],
  keepsData: false,
  writable: ['/tmp', '/run'],
  env: { HOME: '/tmp', LANG: 'C.UTF-8' },
  initialise: [],
  start: () => [
    'dash',
    '-c',
    startScript,
    'start',
    'chromium-headless-shell',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--remote-debugging-port=${innerPort}`,
    '--user-data-dir=/tmp/browser',
  ],
  probe: { kind: 'command', argv: ['socat', '-u', 'OPEN:/dev/null', `TCP:127.0.0.1:${innerPort}`], secondsMax: 60 },
  quiesce: [],
  resume: [],
  stop: { signal: 'SIGTERM', secondsMax: 10 },
  relationship: { rel: 'http', scheme: 'http', port },
};

/** What draws by a graphics card, and the compiler behind it, are not unpacked: there is no card. */
const program: DebianPackages = {
  ...packages('chromium-headless-shell', 'socat', 'fonts-dejavu-core', 'fonts-liberation'),
  without: ['/usr/lib/*/libLLVM*', '/usr/lib/*/libz3*', '/usr/lib/*/libgallium*'],
};

const note = 'the browser is the newest that Debian 13 has, under the name that configurations give it';

export const chromeHeadless: ServiceEntry = {
  versions: [{ ...trixie.version('120', program), note }],
  retired: ['113', '95', '91', '86', '84', '83', '81', '80', '73'],
  profile: 'HIGH_CPU',
  service,
};
