/** An app that takes as much as it can get, of whatever it is asked to, and tells how far it came. */
import { stepOf } from '../../server/rooms/deployments/sizes/sizes.ts';
import { type Project, read, successful } from '../open-project.ts';

const profile = 'HIGH_MEMORY';
/** What a container has of which nobody says more. */
const given = { ...stepOf(profile, { profile_size: '0.5' }), processes: 1000, diskMegabytes: 512 };
const killedCode = 137;

export type Kind = 'memory' | 'cpu' | 'processes' | 'disk';

const [half, tooMuch] = [given.memory * 0.5, Math.round(given.memory * 1.2)];
const tooManyProcesses = given.processes * 1.2;
const tooMuchDisk = given.diskMegabytes * 2;

/** What it is asked to take and how much of that; what its answer tells, and the least and the most that it may be. */
export const greedyTries: [Kind, amount: number, told: string, least: number, most: number][] = [
  ['memory', half, `exit code with ${half} MiB of memory, of ${given.memory}`, 0, 0],
  ['memory', tooMuch, `exit code with ${tooMuch} MiB of memory, of ${given.memory}`, killedCode, killedCode],
  ['cpu', 10, `processors that two loops have, of ${given.cpu}`, given.cpu * 0.5, given.cpu * 1.2],
  ['processes', tooManyProcesses, `processes of ${tooManyProcesses}, of ${given.processes}`, given.processes * 0.9, given.processes],
  ['disk', tooMuchDisk, `MiB on disk of ${tooMuchDisk}, of ${given.diskMegabytes}`, given.diskMegabytes * 0.8, given.diskMegabytes],
];

const config = `
applications:
  greedy:
    type: php:8.4
    container_profile: ${profile}
    mounts: {web/files: {source: storage, source_path: files}}
    web: {locations: {/: {root: web, passthru: /index.php, scripts: true}}}
routes:
  https://{default}/: {type: upstream, upstream: 'greedy:http'}
`;

const page = `<?php
set_time_limit(0);
$amount = (float) $_GET['amount'];

/** A process takes megabytes of memory; 137 if it was killed for it. */
function memory($megabytes) {
    exec("php -d memory_limit=-1 -r 'str_repeat(\\"x\\", $megabytes * 2 ** 20);'", $_, $code);
    return $code;
}
/** How many of so many processes start. */
function processes($count) {
    exec('setsid sh ' . __DIR__ . "/../processes.sh $count 2>/dev/null", $said);
    return (int) end($said);
}
/** Seconds of processor time that two processes have in so many seconds, for each second. */
function cpu($seconds) {
    $before = getrusage(1);
    $start = microtime(true);
    exec("for n in 1 2; do timeout $seconds sh -c 'while :; do :; done' & done; wait");
    $after = getrusage(1);
    $used = fn ($kind) => $after["ru_$kind.tv_sec"] - $before["ru_$kind.tv_sec"] + ($after["ru_$kind.tv_usec"] - $before["ru_$kind.tv_usec"]) / 1e6;
    return ($used('utime') + $used('stime')) / (microtime(true) - $start);
}
/** How many of so many megabytes fit on the disk. */
function disk($megabytes) {
    exec("dd if=/dev/zero of=files/large bs=1M count=$megabytes 2>/dev/null; stat --format=%s files/large; rm files/large", $said);
    return $said[0] / 2 ** 20;
}
echo json_encode(match ($_GET['take']) {
    'memory' => memory($amount), 'processes' => processes($amount), 'cpu' => cpu($amount), 'disk' => disk($amount),
});
`;

/** They only wait, which is quick to start, until no more can be started; then they end together. */
const processesScript = `
mkfifo /tmp/held && exec 3<>/tmp/held && rm /tmp/held
(n=0; while [ "$n" -lt "$1" ]; do read -r _ <&3 & n=$((n + 1)); echo "$n"; done)
kill -KILL 0
`;

export async function pushGreedyApp(project: Project) {
  await project.write({ '.upsun/config.yaml': config, 'web/index.php': page, 'processes.sh': processesScript }, 'Greedy');
  await project.push('main');
  successful(await project.lastActivity('main'));
  const address = await project.address('main');
  return {
    async take(kind: Kind, amount: number): Promise<number> {
      return JSON.parse(await read(address, `/?take=${kind}&amount=${amount}`));
    },
  };
}
