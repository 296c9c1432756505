import { createHmac } from 'node:crypto';
import { flattenedVerify } from 'jose';
import { expect, test } from 'vitest';
import { webhookRequest } from './webhook-request.ts';

const url = 'https://hooks.example.org/here';
const body = '{"text":"Zoë pushed"}';

test('a shared key signs the body as it is, by RFC 7797, and the body is not in the signature', async () => {
  const { headers } = webhookRequest({ url, shared_key: 'key' }, body);
  const [header = '', payload, signature = ''] = (headers['x-jws-signature'] ?? '').split('.');
  expect(Buffer.from(header, 'base64url').toString()).toBe('{"alg":"HS256","b64":false,"crit":["b64"]}');
  expect(payload).toBe('');
  expect(signature).toBe(createHmac('sha256', 'key').update(`${header}.${body}`).digest('base64url'));
  const bytes = new TextEncoder();
  const options = { crit: { b64: true } };
  await flattenedVerify({ protected: header, payload: bytes.encode(body), signature }, bytes.encode('key'), options);
  await expect(
    flattenedVerify({ protected: header, payload: bytes.encode(`${body} `), signature }, bytes.encode('key'), options),
  ).rejects.toThrow('signature verification failed');
});

test('without a key nothing is signed', () => {
  const { headers } = webhookRequest({ url, shared_key: null }, body);
  expect(Object.keys(headers)).toEqual(['content-type']);
});
