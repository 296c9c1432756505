import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

test('nothing needs to be set', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    url: 'http://127.0.0.1:8080',
    domain: 'offshoot.localhost',
    databaseUrl: undefined,
    mail: { smtpUrl: undefined, from: 'offshoot@offshoot.localhost' },
    phone: { webhookUrl: undefined },
  });
});

test('what is given out beyond what there is can be said in part', () => {
  expect(readConfig({}).overcommit).toEqual({ cpu: 32, memory: 8, disk: 4 });
  expect(readConfig({ OFFSHOOT_OVERCOMMIT: 'memory=1.5, disk=1' }).overcommit).toEqual({ cpu: 32, memory: 1.5, disk: 1 });
});

test('every mistake is named in one refusal', () => {
  const mistakes = {
    OFFSHOOT_PORT: '99999',
    OFFSHOOT_HOST: 'a b',
    OFFSHOOT_SSH_PORT: 'ssh',
    OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: 'maybe',
    OFFSHOOT_DOMAIN: 'Upper.Case',
    OFFSHOOT_URL: 'https://x.org/path',
    DATABASE_URL: 'mysql://x',
    OFFSHOOT_SECRET_KEY: 'short',
    OFFSHOOT_ADMIN_PASSWORD: 'short',
    OFFSHOOT_SMTP_URL: 'https://mail.example.org',
    OFFSHOOT_MAIL_FROM: 'Eve <eve@example.org>',
    OFFSHOOT_PHONE_WEBHOOK_URL: 'file:///etc/passwd',
    OFFSHOOT_OVERCOMMIT: 'memory=0',
    OFFSHOOT_DEVELOPMENT_SIZES: 'tiny',
    OFFSHOOT_PREVIEW_PAUSE_DAYS: '-1',
    OFFSHOOT_PREVIEW_SLEEP_SECONDS: '1.5',
    OFFSHOOT_PROT: '8080',
  };
  let message = '';
  try {
    readConfig(mistakes);
  } catch (error) {
    message = String(error);
  }
  for (const name of Object.keys(mistakes)) expect(message).toContain(name);
});
