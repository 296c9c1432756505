/** What the edge and the machine tell, in the process that has them. */
import { gauge, type Family } from '../../kernel/instruments.ts';
import type { Platform } from '../../platform.ts';

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

export async function edgeFamilies(platform: Platform): Promise<Family[]> {
  const { processes, answered, environments, contested, restarts } = await (await platform.edge()).status();
  const total = (of: 'connections' | 'outstanding' | 'memory_bytes' | 'records_dropped' | 'log_lines_dropped') =>
    sum(processes.map((each) => each[of]));
  return [
    gauge('offshoot_edge_processes', 'Processes of the edge that serve.', processes.length),
    gauge('offshoot_edge_connections', 'Connections of visitors that are open.', total('connections')),
    gauge('offshoot_edge_requests_under_way', 'Requests that the edge has not answered yet.', total('outstanding')),
    {
      name: 'offshoot_edge_requests_total',
      help: 'Requests that the edge answered, by the class of their status.',
      type: 'counter',
      samples: Object.entries(answered).map(([status, value]) => ({ labels: { status }, value })),
    },
    gauge('offshoot_edge_memory_bytes', 'Memory of all processes of the edge.', total('memory_bytes')),
    gauge('offshoot_edge_environments', 'Environments that the edge serves.', environments),
    gauge('offshoot_edge_contested_hosts', 'Hosts that several environments have in their routes.', contested.length),
    gauge('offshoot_edge_records_dropped', 'Records of requests that its present processes gave up.', total('records_dropped')),
    gauge('offshoot_edge_log_lines_dropped', 'Lines of logs that its present processes gave up.', total('log_lines_dropped')),
    {
      name: 'offshoot_edge_restarts_total',
      help: 'Processes of the edge that had to be started again.',
      type: 'counter',
      samples: [{ value: restarts }],
    },
  ];
}

export async function containerFamilies(platform: Platform): Promise<Family[]> {
  const containers = await (await platform.machine()).runtime.list();
  const byStatus = Map.groupBy(containers, ({ status }) => status);
  return [
    gauge(
      'offshoot_containers',
      'Containers by what they do.',
      [...byStatus].map(([status, those]) => ({ labels: { status }, value: those.length })),
    ),
    gauge(
      'offshoot_container_restarts',
      'How often containers that are there now had to be started again.',
      sum(containers.map(({ restarts }) => restarts)),
    ),
  ];
}

export async function volumeFamilies(platform: Platform): Promise<Family[]> {
  const { bytes, freeBytes } = await (await platform.machine()).volumes.capacity();
  return [
    gauge('offshoot_volumes_size_bytes', 'The size of the pool of volumes, with what it may grow by.', bytes),
    gauge('offshoot_volumes_free_bytes', 'What of it is free.', freeBytes),
  ];
}
