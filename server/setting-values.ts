/** How the value of each setting is read: what it becomes, or in words what it should have been. */
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { BackupPlace } from './drivers/blobs/places.ts';
import { signatureAlgorithms, type SigningKey } from './drivers/certificates/dns/signature.ts';
import { namedTypes, typesExpected } from './catalogue/example-types.ts';

/**
 * Domains whose records may be changed, and how: by dynamic update at a name server, or by a command. `servers`, as `<address>:<port>`, are asked whether a record is
 * there; undefined for those of the zone.
 */
export type DnsSettings = { domains: [string, ...string[]]; servers: string[] | undefined } & (
  | { kind: 'rfc2136'; host: string; port: number | undefined; key: SigningKey }
  | { kind: 'command'; command: string }
);

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

export const passwordCharactersMin = 8;
export const passwordCharactersMax = 200;
export const apiTokenCharactersMin = 12;
export const metricsTokenCharactersMin = 24;
export const webhookKeyCharactersMin = 16;

export class ConfigError extends Error {}

type Parse<T> = (value: string) => T;

/** A parser throws a string: what the value should have been. */
const expected = (what: string): never => {
  throw new ConfigError(what);
};

export const port: Parse<number> = (value) =>
  /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535 ? Number(value) : expected('a port number from 1 to 65535');
export const onOrOff: Parse<boolean> = (value) => (value === 'on' || value === 'off' ? value === 'on' : expected('on or off'));
const processesMax = 64;
export const processes: Parse<number> = (value) =>
  /^[1-9]\d?$/.test(value) && Number(value) <= processesMax ? Number(value) : expected(`a number from 1 to ${processesMax}`);
const developmentSizesFrom = ['parent', 'minimum', 'default'] as const;
export type DevelopmentSizes = (typeof developmentSizesFrom)[number];
export const developmentSizes: Parse<DevelopmentSizes> = (value) =>
  developmentSizesFrom.find((from) => from === value) ?? expected(`one of ${developmentSizesFrom.join(', ')}`);
const domainVerifications = ['released', 'required'] as const;
export type DomainVerification = (typeof domainVerifications)[number];
export const domainVerification: Parse<DomainVerification> = (value) =>
  domainVerifications.find((one) => one === value) ?? expected(`one of ${domainVerifications.join(', ')}`);
export const overcommitUsual = { cpu: 32, memory: 8, disk: 4 };
export interface Overcommit {
  cpu: number;
  memory: number;
  disk: number;
}
export const overcommit: Parse<Partial<Overcommit>> = (value) =>
  Object.fromEntries(
    value.split(',').map((part) => {
      const [, kind, factor] = /^ *(cpu|memory|disk)=(\d{1,4}(?:\.\d{1,2})?) *$/.exec(part) ?? [];
      return Number(factor) > 0 ? [kind, Number(factor)] : expected('factors such as cpu=32,memory=8,disk=4');
    }),
  );
export const host: Parse<string> = (value) =>
  /^[a-z0-9.:_-]{1,253}$/i.test(value) ? value : expected('an address or host name to listen on, such as 127.0.0.1 or ::');
export const domain: Parse<string> = (value) =>
  value.length <= 253 && /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value)
    ? value
    : expected('a lower-case domain name such as apps.example.org');
export const email: Parse<string> = (value) =>
  value.length <= 254 && /^[^\s@"<>]+@[^\s@"<>]+$/.test(value) ? value.toLowerCase() : expected('an e-mail address');
export const atLeast =
  (characters: number): Parse<string> =>
  (value) =>
    value.length >= characters && value.length <= passwordCharactersMax && !/\s/.test(value)
      ? value
      : expected(`${characters} to ${passwordCharactersMax} characters without spaces`);
export const url: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed && /^https?:$/.test(parsed.protocol) && parsed.pathname === '/' && !parsed.search && !parsed.hash && !parsed.username
    ? parsed.origin
    : expected('an address such as https://offshoot.example.org, without a path');
};
export const databaseUrl: Parse<string> = (value) =>
  /^postgres(ql)?:\/\//.test(value) ? value : expected('a PostgreSQL address such as postgresql://user:password@host:5432/offshoot');
export const smtpUrl: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed && /^smtps?:$/.test(parsed.protocol) && parsed.hostname && /^\/?$/.test(parsed.pathname) && !parsed.search && !parsed.hash
    ? value
    : expected('an SMTP server such as smtp://user:password@mail.example.org:587, or smtps://…');
};
export const webhookUrl: Parse<string> = (value) =>
  /^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : expected('an address such as https://sms.example.org/send');
export const regionId: Parse<string> = (value) =>
  /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(value)
    ? value
    : expected('a name of lower-case letters, digits, dots and dashes, such as eu-1');
export const line: Parse<string> = (value) =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  value.length <= 100 && !/[\u0000-\u001f\u007f]/.test(value) ? value : expected('one line of up to 100 characters');
export const timezone: Parse<string> = (value) =>
  value === 'UTC' || Intl.supportedValuesOf('timeZone').includes(value) ? value : expected('a time zone such as Europe/Amsterdam');
export const carbonIntensity: Parse<number> = (value) =>
  /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : expected('grams of CO2 for a kWh, a number such as 56 or 56.5');
export const energyUsual = { idle: 0.74, full: 3.5, memory: 0.392, disk: 1.2, network: 1, pue: 1.58 };
/** What a machine draws: watts of a processor that is idle, and of one in full use, of a GB of memory and a TB of disk; watt-hours for a GB sent; and by how much the building multiplies it. */
export type Energy = typeof energyUsual;
const energySyntax = /^ *(idle|full|memory|disk|network|pue)=(\d{1,4}(?:\.\d{1,6})?) *$/;
export const energy: Parse<Energy> = (value) => {
  const given = value.split(',').map((part) => {
    const [, name = '', number] =
      energySyntax.exec(part) ?? expected('numbers such as idle=0.74,full=3.5,memory=0.392,disk=1.2,network=1,pue=1.58');
    return [name, Number(number)];
  });
  const all: Energy = { ...energyUsual, ...Object.fromEntries(given) };
  if (all.full < all.idle) expected('numbers of which full is not less than idle');
  return all.pue < 1 ? expected('numbers of which pue is at least 1') : all;
};
export const relayLimitsUsual = { hour: 1000, day: 5000, recipients: 100, megabytes: 10 };
/** Of mail that an environment sends: to how many recipients in an hour and in a day, to how many with one message, and how large a message is. */
export type RelayLimits = typeof relayLimitsUsual;
const relayLimitSyntax = /^ *(?:(hour|day)=(\d{1,8})|(recipients)=([1-9]\d{0,3})|(megabytes)=([1-9]|[1-4]\d|50)) *$/;
export const relayLimits: Parse<RelayLimits> = (value) => {
  const given = value.split(',').map((part) => {
    const [name = '', number] = (
      relayLimitSyntax.exec(part) ?? expected('numbers such as hour=1000,day=5000,recipients=100,megabytes=10 (up to 50)')
    )
      .slice(1)
      .filter((found) => found !== undefined);
    return [name, Number(number)];
  });
  return { ...relayLimitsUsual, ...Object.fromEntries(given) };
};
export const secretKeys: Parse<Buffer[]> = (value) =>
  value.split(',').map((key) => {
    const bytes = Buffer.from(key.trim(), 'base64');
    return bytes.length === 32 ? bytes : expected('32 random bytes in base64 (several separated by commas, newest first)');
  });
const addressBits: Record<number, number> = { 4: 32, 6: 128 };
const isNetwork = (text: string) => {
  const [, address = '', bits = '0'] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  return Number(bits) <= (addressBits[isIP(address)] ?? -1);
};
const networks =
  (what: string): Parse<string[]> =>
  (value) =>
    value
      .split(',')
      .map((entry) => entry.trim())
      .map((entry) => (isNetwork(entry) ? entry : expected(what)));
export const addresses = networks('addresses or networks separated by commas');
const namedPrivateAddresses = networks('yes, no, or addresses and networks separated by commas, such as 10.1.2.0/24,fd00::/8');
const privateAddressesByWord: Record<string, readonly string[]> = { yes: ['0.0.0.0/0', '::/0'], no: [] };
export const privateAddresses: Parse<readonly string[]> = (value) => privateAddressesByWord[value] ?? namedPrivateAddresses(value);
/** Names and addresses with their ports. */
export const plainRegistries: Parse<readonly string[]> = (value) => {
  const hosts = value.split(',').map((host) => host.trim());
  return hosts.every((host) => /^[A-Za-z0-9.-]+:\d{1,5}$/.test(host))
    ? hosts
    : expected('registries with their ports, separated by commas, such as registry.internal:5000');
};
export const numberUpTo =
  (max: number, what: string): Parse<number> =>
  (value) =>
    /^\d{1,9}$/.test(value) && Number(value) <= max ? Number(value) : expected(`a number of ${what} from 0 to ${max}; 0 is never`);
export const certificatesFile: Parse<string> = (value) =>
  value.startsWith('/') && existsSync(value) && readFileSync(value, 'latin1').includes('-----BEGIN CERTIFICATE-----')
    ? value
    : expected('the absolute path of a file of certificates in the form of PEM');
export const pauseDaysMax = 3650;
export const imageUpdateDaysMax = 365;
/** The bound for the setting of the installation, and for those of environments. */
export const sleepSecondsMax = 2_592_000;
/** Parses the places of backups, as the setting has them. Throws a ConfigError. */
export const backupPlaces: Parse<[BackupPlace, ...BackupPlace[]]> = (value) => {
  const [first = expected('places'), ...others] = value.split(',').map((place) => backupPlace(place.trim()));
  return [first, ...others];
};
const backupPlace: Parse<BackupPlace> = (value) => {
  if (value.startsWith('/')) return { kind: 'folder', folder: resolve(value) };
  const url = value.startsWith('s3:') ? URL.parse(value.slice('s3:'.length)) : null;
  const [, bucket, prefix = ''] =
    /^\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]{1,200}?))?\/?$/.exec(url?.pathname ?? '') ?? [];
  if (!url || !/^https?:$/.test(url.protocol) || bucket === undefined || url.username === '' || url.password === '')
    return expected('absolute folders, or s3:https://ACCESS_KEY:SECRET_KEY@host/bucket/prefix?region=…, separated by commas');
  const [accessKey, secretKey] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const region = url.searchParams.get('region') ?? 'us-east-1';
  return { kind: 's3', endpoint: url.origin, bucket, prefix, region, accessKey, secretKey };
};
export const directoryUrl: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed?.protocol === 'https:' && !parsed.username
    ? parsed.href
    : expected('the directory of an authority (ACME), such as https://acme-v02.api.letsencrypt.org/directory');
};
export const externalAccount: Parse<{ keyId: string; hmacKey: string }> = (value) => {
  const [, keyId = '', hmacKey = ''] =
    /^([^\s:]+):([A-Za-z0-9_-]+)={0,2}$/.exec(value) ?? expected('the id and the key that the authority gave, as id:key');
  return { keyId, hmacKey };
};
export const acmeProfile: Parse<string> = (value) =>
  /^[A-Za-z0-9._-]{1,64}$/.test(value) ? value : expected('the name of a profile that the authority has, such as shortlived');
const dnsExpected =
  'rfc2136://KEY_NAME:SECRET@ns.example.org/?domains=example.org,example.net&algorithm=hmac-sha256, or command:/absolute/path?domains=example.org';
const serverAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\])(?::\d{1,5})?$/;
export const dnsSettings: Parse<DnsSettings> = (value) => {
  const url = URL.parse(value) ?? expected(dnsExpected);
  const [first, ...others] = (url.searchParams.get('domains') ?? '').split(',').map((each) => domain(each.trim()));
  if (first === undefined) return expected(dnsExpected);
  const domains: [string, ...string[]] = [first, ...others];
  const servers = url.searchParams.get('servers')?.split(',');
  if (servers?.some((each) => !serverAddress.test(each))) return expected(dnsExpected);
  if (url.protocol === 'command:' && url.pathname.startsWith('/'))
    return { kind: 'command', domains, servers, command: decodeURIComponent(url.pathname) };
  if (url.protocol !== 'rfc2136:' || !url.hostname || !url.username || !url.password) return expected(dnsExpected);
  const key = {
    name: decodeURIComponent(url.username),
    algorithm: signatureAlgorithms.find((each) => each === (url.searchParams.get('algorithm') ?? 'hmac-sha256')) ?? expected(dnsExpected),
    secret: decodeURIComponent(url.password),
  };
  return {
    kind: 'rfc2136',
    domains,
    servers,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? undefined : Number(url.port),
    key,
  };
};
const identityProviderExpected =
  'https://CLIENT_ID:SECRET@login.example.org/path?name=Example (percent-encoded; several separated by commas)';
/** Another identity provider that people sign in with. */
export interface IdentityProviderSettings {
  /** In addresses of ours, and of the connections of people. */
  id: string;
  /** What people know it by. */
  name: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
}
export const identityProviders: Parse<IdentityProviderSettings[]> = (value) => {
  const providers = value.split(',').map((each) => identityProvider(each.trim()));
  const isUnique = [({ id }: IdentityProviderSettings) => id, ({ issuer }: IdentityProviderSettings) => issuer].every(
    (of) => new Set(providers.map(of)).size === providers.length,
  );
  return isUnique ? providers : expected('identity providers of which no two have the same name or address');
};
const thisMachine = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
function identityProvider(value: string): IdentityProviderSettings {
  const url = URL.parse(value) ?? expected(identityProviderExpected);
  const name = line(url.searchParams.get('name') ?? '').trim();
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && thisMachine.test(url.hostname));
  if (!isSafe || id === '' || url.username === '' || url.password === '' || url.hash !== '' || [...url.searchParams].length !== 1)
    return expected(identityProviderExpected);
  const [clientId = '', clientSecret = ''] = [url.username, url.password].map(decodeURIComponent);
  return { id, name, issuer: `${url.origin}${url.pathname}`, clientId, clientSecret };
}
export const imagesAhead: Parse<readonly string[]> = (value) => namedTypes(value) ?? expected(typesExpected);
export const logLevel: Parse<LogLevel> = (value) =>
  logLevels.find((level) => level === value) ?? expected(`one of ${logLevels.join(', ')}`);
