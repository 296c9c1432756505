/**
 * What this machine offers, one line each: ok, or the remedy; then what the installation takes of it and has given out. Ends with 1 if the control
 * plane could not run here; what only deployments need is a warning. It looks, and changes nothing.
 */
import { join } from 'node:path';
import { type Config, readConfig } from '../server/config.ts';
import { isEdgeIn } from '../server/drivers/edge/open-edge.ts';
import { machineChecks, ok, type Check } from '../server/rooms/installation/public.ts';
import { ConfigError } from '../server/setting-values.ts';
import { diskUsageLines } from './disk-usage.ts';
import { isPlatformAt, portFinding } from './port-findings.ts';

const portChecks: readonly Check[] = [
  {
    what: 'port',
    need: 'platform',
    look: ({ apiHost, port }) => portFinding(apiHost, port, () => isPlatformAt(apiHost, port)),
    remedy: 'stop what listens there, or set OFFSHOOT_PORT',
  },
  {
    what: 'port for http',
    need: 'deployments',
    look: ({ host, edge: { port }, data }) => portFinding(host, port, () => isEdgeIn(join(data, 'edge'))),
    remedy: 'stop what listens there, or set OFFSHOOT_HTTP_PORT',
  },
  {
    what: 'port for https',
    need: 'deployments',
    look: ({ host, tls, edge: { httpsPort }, data }) =>
      tls ? portFinding(host, httpsPort, () => isEdgeIn(join(data, 'edge'))) : ok('not needed: OFFSHOOT_TLS is off'),
    remedy: 'stop what listens there, or set OFFSHOOT_HTTPS_PORT',
  },
];

async function examine(config: Config): Promise<boolean> {
  let missing = 0;
  for (const { what, need, look, remedy } of [...machineChecks, ...portChecks]) {
    const { ok, found } = await look(config);
    const verdict = ok ? 'ok' : need === 'platform' ? 'missing' : 'warning';
    if (verdict === 'missing') missing++;
    console.log(`${verdict.padEnd(8)} ${what.padEnd(20)} ${found}${ok ? '' : `: ${remedy}`}`);
  }
  for (const line of await diskUsageLines(config)) console.log(line);
  console.log(missing === 0 ? '\nThe platform can run here.' : '\nThe platform cannot run here until what is missing is remedied.');
  return missing === 0;
}

try {
  process.exitCode = (await examine(readConfig(process.env))) ? 0 : 1;
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
