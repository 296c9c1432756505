/** How failures of questions about measurements are told, as published: what is wrong by parameter, nothing at all of what one may not see, and what to ask for in place of too much. */
import { Type } from 'typebox';
import type { FailureBodies } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { closed } from '../../kernel/schema.ts';

const ViolationsProblem = closed({
  type: Type.String({ format: 'uri' }),
  title: Type.String(),
  status: Type.Integer(),
  violations: Type.Unsafe<object>({ type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } }),
});

const TooMuchData = closed({ error: Type.String(), message: Type.String() });
const narrowDown = 'Please reduce the time range or add more filters to narrow down the query';

export const failureBodies: FailureBodies = {
  'invalid-request': {
    schema: ViolationsProblem,
    of: ({ fields = {}, body }) => ({
      type: 'https://tools.ietf.org/html/rfc2616#section-1',
      title: 'Please ensure parameters are correct.',
      status: 400,
      violations: Object.fromEntries(Object.entries(fields).map(([name, message]) => [name, [message]])),
      ...body,
    }),
  },
  forbidden: { of: () => undefined },
  'too-much-data': { schema: TooMuchData, of: ({ message }) => ({ error: 'Too much data fetched', message }) },
};

const CodeAndMessage = closed({ code: Type.Integer(), message: Type.String() });
const codeAndMessage = { schema: CodeAndMessage, of: ({ status, message }: Problem) => ({ code: status, message }) };

/** Profiling tells them in its own way. */
export const profilingFailureBodies: FailureBodies = {
  'invalid-request': codeAndMessage,
  forbidden: { of: () => undefined },
  'too-much-data': codeAndMessage,
};

/** Whoever asks about what is absent, or not theirs to see, is told the same. */
export const absent = new Problem('forbidden', 'There is no such environment, or you may not see it.');

export const tooMuchData = () => new Problem('too-much-data', narrowDown);
