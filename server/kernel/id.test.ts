import { expect, test } from 'vitest';
import { shortId, ulid } from './id.ts';

test('ids have the formats that clients know, and do not repeat', () => {
  const many = Array.from({ length: 1000 }, () => [shortId(), ulid()] as const);
  for (const [short, long] of many) {
    expect(short).toMatch(/^[a-z2-7]{13}$/);
    expect(long).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  }
  expect(new Set(many.flat()).size).toBe(2000);
});

test('a ULID sorts by the time it was made', () => {
  expect(ulid(Date.UTC(2026, 0, 1)) < ulid(Date.UTC(2026, 0, 1) + 1)).toBe(true);
  expect(ulid(1_469_918_176_385).slice(0, 10)).toBe('01ARYZ6S41');
});
