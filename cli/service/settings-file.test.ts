import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { settingsGiven, settingsText } from './settings-file.ts';

test('any setting is read back as it was given, and the password of the first start is not kept', () => {
  const given = {
    OFFSHOOT_SMTP_URL: 'smtp://user:pa#ss%20$HOME"\'@mail.example.org:587',
    OFFSHOOT_REGION_LABEL: "The “north” isn't far # really",
    OFFSHOOT_BACKUPS: '/mnt/a,/mnt/b',
  };
  expect(parseEnv(settingsText({ ...given, OFFSHOOT_ADMIN_PASSWORD: 'secret-of-once' }))).toEqual(given);
});

test('what a file cannot hold is refused', () => {
  expect(() => settingsText({ OFFSHOOT_REGION_LABEL: 'a\nb' })).toThrow(/OFFSHOOT_REGION_LABEL cannot be written/);
  expect(() => settingsText({ OFFSHOOT_REGION_LABEL: '\'"`' })).toThrow(/OFFSHOOT_REGION_LABEL cannot be written/);
});

test('only settings of Offshoot are taken from the environment of the command', () => {
  const env = { PATH: '/bin', OFFSHOOT_PORT: '8080', OFFSHOOT_URL: '', DATABASE_URL: 'postgresql://a/b' };
  expect(settingsGiven(env)).toEqual({ OFFSHOOT_PORT: '8080', DATABASE_URL: 'postgresql://a/b' });
});
