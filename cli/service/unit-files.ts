/**
 * What systemd is told. There are two units, because two things end at different times:
 *
 * - offshoot.service is the platform. It is stopped, started and upgraded; environments and the edge do not notice.
 * - offshoot-environments.service stands for what outlives it. It has no process; when it stops, which is when the machine is shut down, it ends
 *   containers and the edge in order, after the platform and before file systems and network are gone.
 *
 * Containers, their monitors and the edge are in control groups of their own at the root (runc/cgroups.ts), where stopping a unit does not reach them. So
 * whatever is left in the platform's own group when it has ended may be killed.
 */
import { join } from 'node:path';
import type { Config } from '../../server/config.ts';
import { currentLink, type ServicePaths } from './service-paths.ts';

export const platformUnit = 'offshoot.service';
export const environmentsUnit = 'offshoot-environments.service';

/** Long enough for a start after a crash of a large database, and with migrations. */
const startSecondsMax = 600;
const stopSecondsMax = 180;
/** Databases in environments may take their time to end. */
const environmentsStopSecondsMax = 300;
const openFilesMax = 1_048_576;
const tasksMax = 16_384;

/** Capabilities that the platform never needs, though it is root. */
const capabilitiesTaken = [
  'CAP_BLOCK_SUSPEND',
  'CAP_MAC_ADMIN',
  'CAP_MAC_OVERRIDE',
  'CAP_SYS_BOOT',
  'CAP_SYS_PACCT',
  'CAP_SYS_TIME',
  'CAP_SYSLOG',
  'CAP_WAKE_ALARM',
];

/** The texts of the unit files, by file name. */
export function unitFiles(paths: ServicePaths, config: Pick<Config, 'data' | 'volumes'>): Record<string, string> {
  const command = join(currentLink(paths), 'offshoot');
  const folders = [paths.programs, config.data, ...(config.volumes === undefined ? [] : [config.volumes])];
  const needed = `RequiresMountsFor=${folders.map(quoted).join(' ')}`;
  return { [platformUnit]: platformText(command, needed), [environmentsUnit]: environmentsText(command, needed) };
}

/** A path as systemd reads it: a percent sign begins a specifier, and a space ends a word. */
const quoted = (path: string) => `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;

const written = '# Written by ./offshoot install and ./offshoot upgrade. To change something: systemctl edit';

const platformText = (command: string, needed: string) => `${written} ${platformUnit}
[Unit]
Description=Offshoot, a platform-as-a-service
After=network-online.target time-sync.target ${environmentsUnit}
Wants=network-online.target
Requires=${environmentsUnit}
${needed}
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
ExecStart=${quoted(command)} start
Restart=on-failure
RestartSec=2
TimeoutStartSec=${startSecondsMax}
TimeoutStopSec=${stopSecondsMax}
# The platform stops its PostgreSQL last and itself; only what is left after that is killed.
KillMode=mixed
OOMPolicy=continue
UMask=0022
LimitNOFILE=${openFilesMax}
TasksMax=${tasksMax}
SyslogIdentifier=offshoot
# No option that gives the service a view of the file system of its own (ProtectSystem, PrivateTmp and the like): what the platform mounts for
# environments has to be seen by the next start, too.
CapabilityBoundingSet=~${capabilitiesTaken.join(' ')}
RestrictRealtime=yes

[Install]
WantedBy=multi-user.target
`;

const environmentsText = (command: string, needed: string) => `${written} ${environmentsUnit}
[Unit]
Description=Environments of Offshoot, which outlive a restart of the platform
After=network-online.target
Wants=network-online.target
${needed}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=${quoted(command)} shutdown
TimeoutStopSec=${environmentsStopSecondsMax}
LimitNOFILE=${openFilesMax}
SyslogIdentifier=offshoot
`;
