import { expect, test } from 'vitest';
import { redacted } from './redact.ts';

const lines: [line: string, shown: string][] = [
  ['mail to anna.b+shop@mail.example.org failed', 'mail to [e-mail] failed'],
  ['192.0.2.7 - - "GET / HTTP/1.1" 200', '[address] - - "GET / HTTP/1.1" 200'],
  ['from 2001:db8::17 and ::1', 'from [address] and [address]'],
  ['card 4111 1111 1111 1111 taken', 'card [card] taken'],
  ['account DE89 3704 0044 0532 0130 00 charged', 'account [account] charged'],
  ['Authorization: Bearer abcdefgh12345', 'Authorization: Bearer [token]'],
  ['session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abc-_1', 'session [token]'],
  ['postgres://app:hunter2@database.internal/main', 'postgres://app:[password]@database.internal/main'],
  ['GET /reset?token=abc&next=/ HTTP/1.1', 'GET /reset?token=[secret]&next=/ HTTP/1.1'],
  ['{"password": "hunter2", "name": "x"}', '{"password": "[secret]", "name": "x"}'],
];
test.each(lines)('%s', (line, shown) => {
  expect(redacted(line)).toBe(shown);
});

test('times, versions, ids and numbers of orders stay', () => {
  const line = '2026-11-09T08:07:05.250Z at 08:07:05 v1.2.3 order 1234567890123 id 0192f5a0-7b1e-7c3d took 12:30 std::vector::size';
  expect(redacted(line)).toBe(line);
});

test.each(['a', '1 ', 'a@', ':', 'x.', '://a:', 'token='])('a long line of %s is read without going back and forth', (part) => {
  expect(redacted(part.repeat((32 * 1024) / part.length))).not.toBe('');
});
