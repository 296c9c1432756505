/** Refusals of fields in the body that released clients take apart: they show people what stands under `error`. */
import { Problem } from '../../kernel/problem.ts';

/** Each message begins after the name of its field, and has no full stop. */
export function refusedFields(fields: Record<string, string>): Problem {
  const sentence = Object.entries(fields)
    .map(([field, message]) => `${field} ${message}.`)
    .join(' ');
  return new Problem('invalid-request', sentence, { fields, body: { detail: { ...fields, error: sentence } } });
}
