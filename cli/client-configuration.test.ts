import { expect, test } from 'vitest';
import { clientConfiguration } from './client-configuration.ts';

const key = 'ssh-ed25519 AAAA';
const local = { url: 'http://127.0.0.1:8080', domain: 'offshoot.localhost', sshPort: 2222 };

test('on its own machine the client finds SSH without asking for names, and knows the key of the server by the domain', () => {
  expect(clientConfiguration(local, key)).toMatchObject({
    api: { base_url: local.url, auth_url: local.url },
    ssh: {
      domain_wildcards: ['*.offshoot.localhost'],
      options: ['Port 2222', 'HostKeyAlias offshoot.localhost', 'HostName 127.0.0.1'],
      host_keys: ['offshoot.localhost ssh-ed25519 AAAA'],
    },
    detection: { git_domain: 'offshoot.localhost', site_domains: ['offshoot.localhost'] },
  });
  expect(clientConfiguration({ ...local, url: 'http://[::1]:8080' }).ssh.options).toContain('HostName ::1');
});

test('elsewhere names lead to it', () => {
  const { ssh } = clientConfiguration({ url: 'https://offshoot.example.org', domain: 'apps.example.org', sshPort: 22 }, key);
  expect(ssh.options).toEqual(['Port 22', 'HostKeyAlias apps.example.org']);
  expect(ssh.host_keys).toEqual(['apps.example.org ssh-ed25519 AAAA']);
});
