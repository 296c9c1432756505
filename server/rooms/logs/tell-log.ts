/** A log as its readers get it: what was asked for, and if they stay, what comes, for as long as they may have it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Type, type Static } from 'typebox';
import { readLog, type LogExtent } from '../../drivers/logs/read-log.ts';
import { closed, Time } from '../../kernel/schema.ts';
import type { Caller, Platform } from '../../platform.ts';
import { LogEntity, type Log } from './log.ts';

const tailLinesUsual = 100;
const tailLinesMax = 100_000;

export const LogQuery = closed({
  tail: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: tailLinesMax,
      description: `How many of the last lines to read; ${tailLinesUsual} where no time is given.`,
    }),
  ),
  since: Type.Optional(Time),
  until: Type.Optional(Time),
  follow: Type.Optional(Type.Boolean({ description: 'Goes on with lines as they come.' })),
});
export type LogQuery = Static<typeof LogQuery>;

function extentOf({ tail, since, until }: LogQuery): LogExtent {
  const isTimed = since !== undefined || until !== undefined;
  return {
    ...(tail !== undefined ? { tail } : !isTimed && { tail: tailLinesUsual }),
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
  };
}

/** The reply is bounded, even where much more was asked for. */
export async function* told({ file }: Log, query: LogQuery): AsyncGenerator<string> {
  const found = await readLog(file, extentOf(query));
  yield Buffer.concat(found?.lines ?? []).toString('utf8');
}

const followSecondsMax = 4 * 60 * 60;
const checkMilliseconds = 10_000;
const noLongerYours = '[You may no longer read this log.]\n';
const longEnough = '[A log is followed for four hours at most; ask again to go on.]\n';

/** Ends soon after the reader loses access, or the environment is gone. */
export async function* followed(log: Log, query: LogQuery, caller: Caller, platform: Platform, gone: AbortSignal): AsyncGenerator<string> {
  const ending = new AbortController();
  const signal = AbortSignal.any([gone, ending.signal]);
  const until = query.until === undefined ? Date.now() + followSecondsMax * 1000 : Date.parse(query.until);
  let lastWords = '';
  const endWith = (words: string) => {
    lastWords = words;
    ending.abort();
  };
  const check = async () => {
    if (Date.now() >= until) endWith(query.until === undefined ? longEnough : '');
    else if (!(await mayStill(log, caller, platform))) endWith(noLongerYours);
  };
  void keepChecking(check, signal).catch(() => endWith(''));
  try {
    yield* platform.logFollowers.follow(log.file, extentOf(query), signal);
    if (lastWords !== '') yield lastWords;
  } finally {
    ending.abort();
  }
}

/** All followers check at the same moments, so that equal questions to the database are asked once. */
async function keepChecking(check: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(checkMilliseconds - (Date.now() % checkMilliseconds), undefined, { signal, ref: false }).catch(() => {});
    if (!signal.aborted) await check();
  }
}

async function mayStill(log: Log, { id, via, amr, user }: Caller, platform: Platform): Promise<boolean> {
  const certified = { sub: id, via, generation: user.token_generation, ...(amr && { amr: [...amr] }) };
  const [caller, now] = await Promise.all([
    platform.callerBy({ certified }, log.scope.project),
    LogEntity.load(LogEntity.address(log), platform),
  ]);
  return now !== undefined && caller !== undefined && caller.can('log:view', now.scope) && caller.can(now.entrance, now.scope);
}
