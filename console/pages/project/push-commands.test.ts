import { expect, test } from 'vitest';
import { clientSetUp, gitCommands, trustCommands } from './push-commands.ts';

const commands = { project: 'abc', branch: 'main', origin: 'https://paas.example:8443', token: undefined, authority: undefined };

test('the commands hold the token once there is one, and leave it to the shell until then', () => {
  expect(gitCommands(commands)).toBe('git remote add offshoot https://x:$API_TOKEN@paas.example:8443/git/abc.git\ngit push offshoot main');
  expect(gitCommands({ ...commands, token: 'secret' })).toContain('https://x:secret@paas.example:8443/');
  expect(clientSetUp(undefined)).toContain('upsun login');
  expect(clientSetUp('secret')).toContain('export UPSUN_CLI_TOKEN=secret');
});

test('Git is told whom to trust for this platform alone, where it does not trust it already', () => {
  expect(trustCommands(commands)).toBeUndefined();
  expect(trustCommands({ ...commands, authority: 'PEM\n' })).toBe(
    "cat >~/offshoot.crt <<'END'\nPEM\nEND\ngit config --global http.https://paas.example:8443/.sslCAInfo ~/offshoot.crt",
  );
});
