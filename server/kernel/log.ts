/** Structured logs, one JSON object a line. Whatever is logged under a secret's name is hidden, so that a careless log line leaks nothing. */
import { pino, type Logger } from 'pino';
import { isJournal, journalLine, levelOf } from './journal.ts';

export type Log = Logger;

const secretKeys = [
  'password',
  'passcode',
  'token',
  'api_token',
  'access_token',
  'refresh_token',
  'client_secret',
  'secret',
  'code_verifier',
  'authorization',
  'cookie',
  'private_key',
  'recovery_codes',
];
const depths = ['', '*.', '*.*.'];

export const openLog = (level: string, destination?: { write(line: string): void }): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.errWithCause },
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...depths.flatMap((depth) => secretKeys.map((key) => depth + key)), '*["set-cookie"]'], censor: '[hidden]' },
    },
    destination ?? standardError(),
  );

function standardError() {
  const errors = pino.destination({ fd: 2, sync: false });
  return isJournal(2) ? { write: (line: string) => errors.write(journalLine(levelOf(line), line)) } : errors;
}
