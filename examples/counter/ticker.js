import { setTimeout as sleep } from 'node:timers/promises';
import { redis } from './redis.js';

process.on('SIGTERM', () => process.exit(0));
for (;;) {
  await redis('INCR', 'ticks').catch((error) => console.error(error.message));
  await sleep(1000);
}
