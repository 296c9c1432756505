import { expect, test } from 'vitest';
import type { Reply } from './exchange.ts';
import { page, type PageKind } from './pages.ts';

const statuses: Record<PageKind, number> = {
  'bad-request': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  missing: 404,
  'method-not-allowed': 405,
  'too-large': 413,
  misdirected: 421,
  loop: 508,
  unavailable: 502,
  paused: 503,
  broken: 503,
  full: 503,
  'too-busy': 503,
  'holding-too-long': 503,
  timeout: 504,
};
const kinds = Object.keys(statuses) as PageKind[];
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const ask = (kind: PageKind, accept?: string) => page(kind, { headers: { accept } });
const textOf = ({ body }: Reply) => (Buffer.isBuffer(body) ? body.toString() : '');
const headersOf = (kind: PageKind, accept?: string) => Object.fromEntries(ask(kind, accept).headers);

test.each(kinds)('%s is a small page of its own, with nothing from elsewhere and no script', (kind) => {
  const reply = ask(kind, browser);
  const text = textOf(reply);
  expect(reply.status).toBe(statuses[kind]);
  expect(headersOf(kind, browser)).toMatchObject({ 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' });
  expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
  expect(text.match(/<h1>(.+)<\/h1>/)?.[1]).toBe(text.match(/<title>(.+)<\/title>/)?.[1]);
  expect(text).toContain('prefers-color-scheme: dark');
  expect(text).not.toMatch(/<script|https?:|src=|@import|url\(/);
  expect(text.match(/<p>/g)).toHaveLength(2);
  expect(text.length).toBeLessThan(2500);
});

test('programs get JSON where they ask for it, and plain text where they do not care', () => {
  const reply = ask('missing', 'application/json');
  expect(JSON.parse(textOf(reply))).toMatchObject({ status: 404, code: 'missing', title: 'There is no site here' });
  expect(headersOf('missing', 'application/json')['Content-Type']).toBe('application/json; charset=utf-8');
  expect(headersOf('missing', 'application/problem+json')['Content-Type']).toBe('application/json; charset=utf-8');
  for (const accept of ['*/*', undefined, 'text/plain', 'image/avif,*/*']) {
    expect(headersOf('missing', accept)['Content-Type']).toBe('text/plain; charset=utf-8');
    expect(textOf(ask('missing', accept))).toMatch(/^404 There is no site here\n\n/);
  }
});

test('where it helps to come back, the page says when', () => {
  const waits = kinds.filter((kind) => headersOf(kind)['Retry-After'] !== undefined);
  expect(waits.toSorted()).toEqual(['broken', 'full', 'holding-too-long', 'paused', 'too-busy']);
});
