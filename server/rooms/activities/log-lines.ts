/** A log as clients read it: a JSON object per line, each with an id that stays the same when it is read again, and a seal when there will be no more. */
import { Type } from 'typebox';
import type { LogHub } from '../../kernel/activity-log.ts';
import { closed } from '../../kernel/schema.ts';

export const logType = 'application/x-ndjson';

/** The parameters that clients send. They have no effect: the log is always sent from its beginning. */
export const LogQuery = closed({
  start_at: Type.Optional(Type.Integer({ minimum: 0 })),
  max_items: Type.Optional(Type.Integer({ minimum: 0 })),
  max_delay: Type.Optional(Type.Integer()),
});

export async function* logLines(logs: LogHub, id: string, gone: AbortSignal): AsyncGenerator<string> {
  for await (const rows of logs.follow(id, gone)) {
    yield rows
      ? rows
          .map(({ position, at, message }) => `${JSON.stringify({ _id: `${id}-${position}`, data: { timestamp: at, message } })}\n`)
          .join('')
      : '{"seal":true}\n';
  }
}
