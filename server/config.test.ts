import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

test('nothing needs to be set', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    apiHost: '127.0.0.1',
    port: 8080,
    tls: true,
    edge: { port: 8000, httpsPort: 8443, processes: 1 },
    url: 'https://localhost:8443',
    domain: 'offshoot.localhost',
    databaseUrl: undefined,
    mail: { smtpUrl: undefined, from: 'offshoot@offshoot.localhost' },
    relay: { port: 4325, limits: { hour: 1000, day: 5000, recipients: 100, megabytes: 10 } },
    phone: { webhookUrl: undefined },
  });
});

test('https is how the platform is reached, unless a proxy is in front of it', () => {
  const read = (env: Record<string, string>) => {
    const { tls, url, apiHost } = readConfig(env);
    return { tls, url, apiHost };
  };
  const [secure, plain] = [{ tls: true, apiHost: '127.0.0.1' }, { tls: false }];
  expect(read({ OFFSHOOT_HTTPS_PORT: '443' })).toEqual({ ...secure, url: 'https://localhost' });
  expect(read({ OFFSHOOT_HOST: '::' })).toEqual({ ...secure, url: 'https://localhost:8443' });
  expect(read({ OFFSHOOT_HOST: '192.0.2.7' })).toEqual({ ...secure, url: 'https://192.0.2.7:8443' });
  expect(read({ OFFSHOOT_URL: 'https://offshoot.example.org' })).toEqual({ ...secure, url: 'https://offshoot.example.org' });
  expect(read({ OFFSHOOT_TLS: 'off' })).toEqual({ ...plain, url: 'http://127.0.0.1:8080', apiHost: '127.0.0.1' });
  const proxied = { OFFSHOOT_HOST: '0.0.0.0', OFFSHOOT_TRUSTED_PROXIES: '192.0.2.1', OFFSHOOT_URL: 'https://offshoot.example.org' };
  expect(read(proxied)).toEqual({ ...plain, url: 'https://offshoot.example.org', apiHost: '0.0.0.0' });
  expect(read({ ...proxied, OFFSHOOT_TLS: 'on' })).toMatchObject(secure);
  expect(read({ OFFSHOOT_URL: 'http://offshoot.test:8080' })).toMatchObject(plain);
  expect(() => read({ OFFSHOOT_URL: 'http://offshoot.test', OFFSHOOT_TLS: 'on' })).toThrow('OFFSHOOT_URL should begin with https:');
  expect(() => read({ OFFSHOOT_TLS: 'yes' })).toThrow('OFFSHOOT_TLS should be on or off');
});

test('images are brought ahead for the examples, for the types that are named, or for none', () => {
  const ahead = (value?: string) => readConfig({ ...(value !== undefined && { OFFSHOOT_IMAGES_AHEAD: value }) }).imagesAhead;
  const examples = new URL('../examples/', import.meta.url);
  const ofExamples = readdirSync(examples, { withFileTypes: true })
    // Templates are in every language: whoever uses one waits for its image.
    .filter((entry) => entry.isDirectory() && entry.name !== 'templates')
    .flatMap(({ name }) => [...readFileSync(new URL(`${name}/.upsun/config.yaml`, examples), 'utf8').matchAll(/type: (\S+:\S+)/g)])
    .map(([, type = '']) => type);
  expect(ahead().toSorted()).toEqual([...new Set(ofExamples)].toSorted());
  expect(ahead('examples')).toEqual(ahead());
  expect(ahead('none')).toEqual([]);
  expect(ahead('mariadb:11.8, static:1')).toEqual(['mariadb:11.8', 'static:1']);
  for (const wrong of ['mariadb', 'static:1,', 'all']) expect(() => ahead(wrong)).toThrow('OFFSHOOT_IMAGES_AHEAD should be none, examples');
});

test('identity providers are named by their address, with the credentials that they gave', () => {
  const read = (value: string) => readConfig({ OFFSHOOT_IDENTITY_PROVIDERS: value }).identityProviders;
  expect(readConfig({}).identityProviders).toEqual([]);
  expect(
    read('https://an%20id:a%2Fsecret@login.example.org/realms/staff?name=Fern%20%26%20Hill, http://id:secret@localhost:9/?name=Two'),
  ).toEqual([
    { id: 'fern-hill', name: 'Fern & Hill', issuer: 'https://login.example.org/realms/staff', clientId: 'an id', clientSecret: 'a/secret' },
    { id: 'two', name: 'Two', issuer: 'http://localhost:9/', clientId: 'id', clientSecret: 'secret' },
  ]);
  for (const wrong of [
    'https://login.example.org',
    'https://id:secret@a.example',
    'http://id:secret@a.example?name=A',
    'https://id@a.example?name=A',
    'no',
  ])
    expect(() => read(wrong)).toThrow('OFFSHOOT_IDENTITY_PROVIDERS should be https://CLIENT_ID:SECRET@');
  expect(() => read('https://a:b@a.example?name=A,https://a:b@b.example?name=a')).toThrow('no two have the same name');
});

test('what is given out beyond what there is can be said in part', () => {
  expect(readConfig({}).overcommit).toEqual({ cpu: 32, memory: 8, disk: 4 });
  expect(readConfig({ OFFSHOOT_OVERCOMMIT: 'memory=1.5, disk=1' }).overcommit).toEqual({ cpu: 32, memory: 1.5, disk: 1 });
});

test('backups are kept in the data folder, or in folders and buckets elsewhere', () => {
  expect(readConfig({ OFFSHOOT_DATA: '/srv/x' }).backups).toEqual([{ kind: 'folder', folder: '/srv/x/backups' }]);
  const place = 's3:https://KEY%2F1:se%2Bcret@store.example.org:9000/bucket-1/of/ours?region=eu-1';
  expect(readConfig({ OFFSHOOT_BACKUPS: `/mnt/disk, ${place}` }).backups).toEqual([
    { kind: 'folder', folder: '/mnt/disk' },
    {
      kind: 's3',
      endpoint: 'https://store.example.org:9000',
      bucket: 'bucket-1',
      prefix: 'of/ours',
      region: 'eu-1',
      accessKey: 'KEY/1',
      secretKey: 'se+cret',
    },
  ]);
  for (const wrong of ['relative', 's3:https://host/bucket', 's3:https://a:b@host/', 's3:ftp://a:b@host/bucket', '/a,'])
    expect(() => readConfig({ OFFSHOOT_BACKUPS: wrong })).toThrow('OFFSHOOT_BACKUPS should be');
});

test('owners of domains prove that they have them where another organization had the name, or always', () => {
  const read = (value?: string) => readConfig({ OFFSHOOT_DOMAIN_VERIFICATION: value }).domainVerification;
  expect([read(), read('released'), read('required')]).toEqual(['released', 'released', 'required']);
  expect(() => read('never')).toThrow('OFFSHOOT_DOMAIN_VERIFICATION should be one of released, required');
});

test('private addresses are reached not at all, all of them, or those that are named', () => {
  const read = (value: string) => readConfig({ OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: value }).allowPrivateAddresses;
  expect(readConfig({}).allowPrivateAddresses).toEqual([]);
  expect(read('no')).toEqual([]);
  expect(read('yes')).toEqual(['0.0.0.0/0', '::/0']);
  expect(read('10.1.2.0/24, fd00::/8,192.168.1.7')).toEqual(['10.1.2.0/24', 'fd00::/8', '192.168.1.7']);
  for (const wrong of ['true', '10.1.2.0/33', 'fd00::/129', '10.1.2', 'db.internal', '10.1.2.0/24,', '10.0.0.0/8;drop'])
    expect(() => read(wrong)).toThrow('OFFSHOOT_ALLOW_PRIVATE_ADDRESSES should be yes, no, or addresses and networks');
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
    OFFSHOOT_RELAY_LIMITS: 'hour=1000,megabytes=51',
    OFFSHOOT_OVERCOMMIT: 'memory=0',
    OFFSHOOT_DEVELOPMENT_SIZES: 'tiny',
    OFFSHOOT_PREVIEW_PAUSE_DAYS: '-1',
    OFFSHOOT_PREVIEW_SLEEP_SECONDS: '1.5',
    OFFSHOOT_BACKUPS: 'relative',
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

test('limits of mail that are not named stay as they are', () => {
  const limits = (value: string) => readConfig({ OFFSHOOT_RELAY_LIMITS: value }).relay.limits;
  expect(limits('hour=0, megabytes=25')).toEqual({ hour: 0, day: 5000, recipients: 100, megabytes: 25 });
  for (const mistake of ['hour', 'hour=-1', 'recipients=0', 'minute=1', 'hour=1;day=2'])
    expect(() => limits(mistake)).toThrow(/OFFSHOOT_RELAY_LIMITS/);
});

test('an authority that certificates come from is named by its directory, along with how it knows us and how DNS is changed', () => {
  const directory = { OFFSHOOT_ACME_DIRECTORY: 'https://acme.example.org/directory' };
  const acme = (env: Record<string, string> = {}) => readConfig({ ...directory, ...env }).acme;
  expect(readConfig({}).acme).toBeUndefined();
  expect(acme()).toEqual({
    directoryUrl: directory.OFFSHOOT_ACME_DIRECTORY,
    email: undefined,
    externalAccount: undefined,
    profile: undefined,
    dns: undefined,
  });
  expect(acme({ OFFSHOOT_ACME_PROFILE: 'shortlived' })?.profile).toBe('shortlived');
  expect(acme({ OFFSHOOT_ACME_EMAIL: 'Ada@Example.org', OFFSHOOT_ACME_EAB: 'id-1:c2VjcmV0_-=' })).toMatchObject({
    email: 'ada@example.org',
    externalAccount: { keyId: 'id-1', hmacKey: 'c2VjcmV0_-' },
  });
  const dns = (value: string) => acme({ OFFSHOOT_ACME_DNS: value })?.dns;
  expect(dns('rfc2136://key%2F1:c2Vj%3D@ns.example.org:5353/?domains=example.org,example.net&algorithm=hmac-sha512')).toEqual({
    kind: 'rfc2136',
    host: 'ns.example.org',
    port: 5353,
    key: { name: 'key/1', algorithm: 'hmac-sha512', secret: 'c2Vj=' },
    domains: ['example.org', 'example.net'],
    servers: undefined,
  });
  expect(dns('rfc2136://k:c2Vj@[2001:db8::1]/?domains=example.org&servers=192.0.2.53:53')).toMatchObject({
    host: '2001:db8::1',
    port: undefined,
    key: { algorithm: 'hmac-sha256' },
    servers: ['192.0.2.53:53'],
  });
  expect(dns('command:/usr/local/sbin/dns%20record?domains=example.org')).toEqual({
    kind: 'command',
    command: '/usr/local/sbin/dns record',
    domains: ['example.org'],
    servers: undefined,
  });
});

test.for([
  ['OFFSHOOT_ACME_DIRECTORY', 'http://acme.example.org/directory'],
  ['OFFSHOOT_ACME_DIRECTORY', 'https://me@acme.example.org/'],
  ['OFFSHOOT_ACME_EMAIL', 'nobody'],
  ['OFFSHOOT_ACME_EAB', 'only-an-id'],
  ['OFFSHOOT_ACME_PROFILE', 'short lived'],
  ['OFFSHOOT_ACME_EAB', 'id:not base64'],
  ['OFFSHOOT_ACME_DNS', 'rfc2136://ns.example.org/?domains=example.org'],
  ['OFFSHOOT_ACME_DNS', 'rfc2136://k:c2Vj@ns.example.org/'],
  ['OFFSHOOT_ACME_DNS', 'rfc2136://k:c2Vj@ns.example.org/?domains=example.org&algorithm=md5'],
  ['OFFSHOOT_ACME_DNS', 'rfc2136://k:c2Vj@ns.example.org/?domains=example.org&servers=ns.example.org'],
  ['OFFSHOOT_ACME_DNS', 'command:relative?domains=example.org'],
  ['OFFSHOOT_ACME_DNS', 'command:/bin/dns?domains=Example'],
] as const)('%s is refused as %s', ([setting, value]) => {
  expect(() => readConfig({ OFFSHOOT_ACME_DIRECTORY: 'https://acme.example.org/directory', [setting]: value })).toThrow(
    `${setting} should be`,
  );
});

test.for([
  ['OFFSHOOT_ACME_EMAIL', 'ada@example.org'],
  ['OFFSHOOT_ACME_EAB', 'id:c2Vj'],
  ['OFFSHOOT_ACME_DNS', 'command:/bin/dns?domains=example.org'],
] as const)('%s means nothing without an authority', ([setting, value]) => {
  expect(() => readConfig({ [setting]: value })).toThrow('OFFSHOOT_ACME_DIRECTORY should be set');
});
