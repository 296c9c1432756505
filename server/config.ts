/**
 * Every environment variable the platform reads, parsed once. A bad value or an unknown OFFSHOOT_* name stops the start with a sentence
 * for each mistake: a setting that is silently ignored is worse than a refusal.
 */
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { BackupPlace } from './drivers/blobs/places.ts';
import { signatureAlgorithms, type SigningKey } from './drivers/certificates/dns/signature.ts';
import { exampleTypes, namedTypes, typesExpected } from './catalogue/example-types.ts';

export interface Config {
  /** The address that people reach this machine at: of the edge and of SSH. */
  host: string;
  /** Whether the edge ends TLS. Without it, a proxy in front does, or nobody. */
  tls: boolean;
  /** Where the API itself listens. Behind the edge it is on this machine alone. */
  apiHost: string;
  port: number;
  /** The port for SSH: Git, and sessions in apps. */
  sshPort: number;
  /** Where containers that are new in a development environment get their sizes from, unless somebody says otherwise. */
  developmentSizes: DevelopmentSizes;
  /** How many times what the machine has may be given to environments. */
  overcommit: { cpu: number; memory: number; disk: number };
  /** Where all environments and, over TLS, the platform itself are reached, told apart by their host names. Nothing listens on `httpsPort` without TLS. */
  edge: { port: number; httpsPort: number; processes: number };
  /** Where people and clients reach the platform: links in mails, the OAuth issuer, the Secure flag of cookies. */
  url: string;
  domain: string;
  data: string;
  /** Undefined where volumes are kept in the data folder. */
  volumes: string | undefined;
  /** The cache of images; several installations can share one. */
  images: string;
  /** A file of certificates that images trust beside the public ones. Undefined where they trust those that this machine trusts beside them. */
  caCertificates: string | undefined;
  /** How often Debian is asked for newer packages for images; 0 for never. */
  imageUpdateDays: number;
  /** Types whose images are built before anybody asks for them, in this order. */
  imagesAhead: readonly string[];
  /** Where backups are kept: each place has all of them. */
  backups: [BackupPlace, ...BackupPlace[]];
  /** Undefined for the embedded PostgreSQL in the data folder. */
  databaseUrl: string | undefined;
  /** Newest first; undefined for the key file in the data folder. */
  secretKeys: Buffer[] | undefined;
  /** Read on the first start only. */
  admin: { email: string; password: string | undefined; apiToken: string | undefined };
  /** The proxies whose X-Forwarded-For is believed, by the edge and by the API. */
  trustedProxies: string[];
  logLevel: LogLevel;
  /** Without an SMTP server, mail is written to the data folder. */
  mail: { smtpUrl: string | undefined; from: string };
  /** Without a webhook, messages to phones are written to the data folder. */
  phone: { webhookUrl: string | undefined };
  /** Addresses and networks that are not public, but that containers may reach, and that users may have the platform visit. */
  allowPrivateAddresses: readonly string[];
  /** Whether whoever adds a domain has to prove that it is theirs; `released`: only of one that another organization had. */
  domainVerification: DomainVerification;
  /** The authority (ACME) that automatic certificates come from. Undefined: there is none but the installation's own. */
  acme: AcmeSettings | undefined;
  /** When environments other than production are paused for want of deployments, and sleep for want of visitors, unless they say otherwise; 0 for never. */
  previews: { pauseAfterDays: number; sleepAfterSeconds: number };
  /** Where this installation stands, as its users see it. The carbon intensity (g/kWh) is undefined where the operator did not set it. */
  region: { id: string; label: string; zone: string; timezone: string; carbonIntensity: number | undefined };
}

export interface AcmeSettings {
  directoryUrl: string;
  /** Where the authority writes to. */
  email: string | undefined;
  /** By which an authority knows that the installation is a customer of its own. */
  externalAccount: { keyId: string; hmacKey: string } | undefined;
  /** How TXT records are set, for wildcards. Undefined: no wildcards. */
  dns: DnsSettings | undefined;
}

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
const apiTokenCharactersMin = 12;

export class ConfigError extends Error {}

type Parse<T> = (value: string) => T;

/** A parser throws a string: what the value should have been. */
const expected = (what: string): never => {
  throw new ConfigError(what);
};

const port: Parse<number> = (value) =>
  /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535 ? Number(value) : expected('a port number from 1 to 65535');
const onOrOff: Parse<boolean> = (value) => (value === 'on' || value === 'off' ? value === 'on' : expected('on or off'));
const processesMax = 64;
const processes: Parse<number> = (value) =>
  /^[1-9]\d?$/.test(value) && Number(value) <= processesMax ? Number(value) : expected(`a number from 1 to ${processesMax}`);
const developmentSizesFrom = ['parent', 'minimum', 'default'] as const;
export type DevelopmentSizes = (typeof developmentSizesFrom)[number];
const developmentSizes: Parse<DevelopmentSizes> = (value) =>
  developmentSizesFrom.find((from) => from === value) ?? expected(`one of ${developmentSizesFrom.join(', ')}`);
const domainVerifications = ['released', 'required'] as const;
export type DomainVerification = (typeof domainVerifications)[number];
const domainVerification: Parse<DomainVerification> = (value) =>
  domainVerifications.find((one) => one === value) ?? expected(`one of ${domainVerifications.join(', ')}`);
const overcommitUsual = { cpu: 32, memory: 8, disk: 4 };
const overcommit: Parse<Partial<Config['overcommit']>> = (value) =>
  Object.fromEntries(
    value.split(',').map((part) => {
      const [, kind, factor] = /^ *(cpu|memory|disk)=(\d{1,4}(?:\.\d{1,2})?) *$/.exec(part) ?? [];
      return Number(factor) > 0 ? [kind, Number(factor)] : expected('factors such as cpu=32,memory=8,disk=4');
    }),
  );
const host: Parse<string> = (value) =>
  /^[a-z0-9.:_-]{1,253}$/i.test(value) ? value : expected('an address or host name to listen on, such as 127.0.0.1 or ::');
const domain: Parse<string> = (value) =>
  value.length <= 253 && /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value)
    ? value
    : expected('a lower-case domain name such as apps.example.org');
const email: Parse<string> = (value) =>
  value.length <= 254 && /^[^\s@"<>]+@[^\s@"<>]+$/.test(value) ? value.toLowerCase() : expected('an e-mail address');
const atLeast =
  (characters: number): Parse<string> =>
  (value) =>
    value.length >= characters && value.length <= passwordCharactersMax && !/\s/.test(value)
      ? value
      : expected(`${characters} to ${passwordCharactersMax} characters without spaces`);
const url: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed && /^https?:$/.test(parsed.protocol) && parsed.pathname === '/' && !parsed.search && !parsed.hash && !parsed.username
    ? parsed.origin
    : expected('an address such as https://offshoot.example.org, without a path');
};
const databaseUrl: Parse<string> = (value) =>
  /^postgres(ql)?:\/\//.test(value) ? value : expected('a PostgreSQL address such as postgresql://user:password@host:5432/offshoot');
const smtpUrl: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed && /^smtps?:$/.test(parsed.protocol) && parsed.hostname && /^\/?$/.test(parsed.pathname) && !parsed.search && !parsed.hash
    ? value
    : expected('an SMTP server such as smtp://user:password@mail.example.org:587, or smtps://…');
};
const webhookUrl: Parse<string> = (value) =>
  /^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : expected('an address such as https://sms.example.org/send');
const regionId: Parse<string> = (value) =>
  /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/.test(value)
    ? value
    : expected('a name of lower-case letters, digits, dots and dashes, such as eu-1');
const line: Parse<string> = (value) =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  value.length <= 100 && !/[\u0000-\u001f\u007f]/.test(value) ? value : expected('one line of up to 100 characters');
const timezone: Parse<string> = (value) =>
  value === 'UTC' || Intl.supportedValuesOf('timeZone').includes(value) ? value : expected('a time zone such as Europe/Amsterdam');
const carbonIntensity: Parse<number> = (value) =>
  /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : expected('grams of CO2 for a kWh, a number such as 56 or 56.5');
const secretKeys: Parse<Buffer[]> = (value) =>
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
const addresses = networks('addresses or networks separated by commas');
const namedPrivateAddresses = networks('yes, no, or addresses and networks separated by commas, such as 10.1.2.0/24,fd00::/8');
const privateAddressesByWord: Record<string, readonly string[]> = { yes: ['0.0.0.0/0', '::/0'], no: [] };
const privateAddresses: Parse<readonly string[]> = (value) => privateAddressesByWord[value] ?? namedPrivateAddresses(value);
const numberUpTo =
  (max: number, what: string): Parse<number> =>
  (value) =>
    /^\d{1,9}$/.test(value) && Number(value) <= max ? Number(value) : expected(`a number of ${what} from 0 to ${max}; 0 is never`);
const certificatesFile: Parse<string> = (value) =>
  value.startsWith('/') && existsSync(value) && readFileSync(value, 'latin1').includes('-----BEGIN CERTIFICATE-----')
    ? value
    : expected('the absolute path of a file of certificates in the form of PEM');
const pauseDaysMax = 3650;
const imageUpdateDaysMax = 365;
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
const directoryUrl: Parse<string> = (value) => {
  const parsed = URL.parse(value);
  return parsed?.protocol === 'https:' && !parsed.username
    ? parsed.href
    : expected('the directory of an authority (ACME), such as https://acme-v02.api.letsencrypt.org/directory');
};
const externalAccount: Parse<{ keyId: string; hmacKey: string }> = (value) => {
  const [, keyId = '', hmacKey = ''] =
    /^([^\s:]+):([A-Za-z0-9_-]+)={0,2}$/.exec(value) ?? expected('the id and the key that the authority gave, as id:key');
  return { keyId, hmacKey };
};
const dnsExpected =
  'rfc2136://KEY_NAME:SECRET@ns.example.org/?domains=example.org,example.net&algorithm=hmac-sha256, or command:/absolute/path?domains=example.org';
const serverAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\])(?::\d{1,5})?$/;
const dnsSettings: Parse<DnsSettings> = (value) => {
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
const imagesAhead: Parse<readonly string[]> = (value) => namedTypes(value) ?? expected(typesExpected);
const logLevel: Parse<LogLevel> = (value) => logLevels.find((level) => level === value) ?? expected(`one of ${logLevels.join(', ')}`);

const variables = {
  OFFSHOOT_HOST: host,
  OFFSHOOT_PORT: port,
  OFFSHOOT_SSH_PORT: port,
  OFFSHOOT_TLS: onOrOff,
  OFFSHOOT_HTTP_PORT: port,
  OFFSHOOT_HTTPS_PORT: port,
  OFFSHOOT_EDGE_PROCESSES: processes,
  OFFSHOOT_OVERCOMMIT: overcommit,
  OFFSHOOT_DEVELOPMENT_SIZES: developmentSizes,
  OFFSHOOT_URL: url,
  OFFSHOOT_DOMAIN: domain,
  OFFSHOOT_DOMAIN_VERIFICATION: domainVerification,
  OFFSHOOT_DATA: (value: string) => resolve(value),
  OFFSHOOT_VOLUMES: (value: string) => resolve(value),
  OFFSHOOT_IMAGES: (value: string) => resolve(value),
  OFFSHOOT_CA_CERTIFICATES: certificatesFile,
  OFFSHOOT_IMAGE_UPDATE_DAYS: numberUpTo(imageUpdateDaysMax, 'days'),
  OFFSHOOT_IMAGES_AHEAD: imagesAhead,
  OFFSHOOT_BACKUPS: backupPlaces,
  OFFSHOOT_SECRET_KEY: secretKeys,
  OFFSHOOT_ADMIN_EMAIL: email,
  OFFSHOOT_ADMIN_PASSWORD: atLeast(passwordCharactersMin),
  OFFSHOOT_ADMIN_API_TOKEN: atLeast(apiTokenCharactersMin),
  OFFSHOOT_TRUSTED_PROXIES: addresses,
  OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: privateAddresses,
  OFFSHOOT_ACME_DIRECTORY: directoryUrl,
  OFFSHOOT_ACME_EMAIL: email,
  OFFSHOOT_ACME_EAB: externalAccount,
  OFFSHOOT_ACME_DNS: dnsSettings,
  OFFSHOOT_PREVIEW_PAUSE_DAYS: numberUpTo(pauseDaysMax, 'days'),
  OFFSHOOT_PREVIEW_SLEEP_SECONDS: numberUpTo(sleepSecondsMax, 'seconds'),
  OFFSHOOT_LOG_LEVEL: logLevel,
  OFFSHOOT_SMTP_URL: smtpUrl,
  OFFSHOOT_MAIL_FROM: email,
  OFFSHOOT_PHONE_WEBHOOK_URL: webhookUrl,
  OFFSHOOT_REGION: regionId,
  OFFSHOOT_REGION_LABEL: line,
  OFFSHOOT_REGION_ZONE: line,
  OFFSHOOT_REGION_TIMEZONE: timezone,
  OFFSHOOT_REGION_CARBON_INTENSITY: carbonIntensity,
  DATABASE_URL: databaseUrl,
};

export const settingNames: readonly string[] = Object.keys(variables);

type Variable = keyof typeof variables;
type Values = { [Name in Variable]?: ReturnType<(typeof variables)[Name]> };

/** Throws a ConfigError whose message names every mistake. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const values = parseVariables(env);
  const domain = values.OFFSHOOT_DOMAIN ?? 'offshoot.localhost';
  const host = values.OFFSHOOT_HOST ?? thisMachine;
  const tls = values.OFFSHOOT_TLS ?? isTlsUsual(values);
  const apiHost = tls ? thisMachine : host;
  const port = values.OFFSHOOT_PORT ?? 8080;
  const httpsPort = values.OFFSHOOT_HTTPS_PORT ?? 8443;
  const data = values.OFFSHOOT_DATA ?? resolve(import.meta.dirname, '..', 'data');
  return {
    host,
    tls,
    apiHost,
    port,
    sshPort: values.OFFSHOOT_SSH_PORT ?? 2222,
    edge: { port: values.OFFSHOOT_HTTP_PORT ?? 8000, httpsPort, processes: values.OFFSHOOT_EDGE_PROCESSES ?? 1 },
    developmentSizes: values.OFFSHOOT_DEVELOPMENT_SIZES ?? 'parent',
    overcommit: { ...overcommitUsual, ...values.OFFSHOOT_OVERCOMMIT },
    url: values.OFFSHOOT_URL ?? (tls ? secureUrl(host, httpsPort) : `http://${reachable(host)}:${port}`),
    domain,
    domainVerification: values.OFFSHOOT_DOMAIN_VERIFICATION ?? 'released',
    data,
    images: values.OFFSHOOT_IMAGES ?? resolve(data, 'images'),
    caCertificates: values.OFFSHOOT_CA_CERTIFICATES,
    imageUpdateDays: values.OFFSHOOT_IMAGE_UPDATE_DAYS ?? 1,
    imagesAhead: values.OFFSHOOT_IMAGES_AHEAD ?? exampleTypes,
    volumes: values.OFFSHOOT_VOLUMES,
    backups: values.OFFSHOOT_BACKUPS ?? [{ kind: 'folder', folder: resolve(data, 'backups') }],
    databaseUrl: values.DATABASE_URL,
    secretKeys: values.OFFSHOOT_SECRET_KEY,
    admin: {
      email: values.OFFSHOOT_ADMIN_EMAIL ?? `admin@${domain}`,
      password: values.OFFSHOOT_ADMIN_PASSWORD,
      apiToken: values.OFFSHOOT_ADMIN_API_TOKEN,
    },
    trustedProxies: values.OFFSHOOT_TRUSTED_PROXIES ?? [],
    allowPrivateAddresses: values.OFFSHOOT_ALLOW_PRIVATE_ADDRESSES ?? [],
    acme: acmeSettings(values),
    logLevel: values.OFFSHOOT_LOG_LEVEL ?? 'info',
    mail: { smtpUrl: values.OFFSHOOT_SMTP_URL, from: values.OFFSHOOT_MAIL_FROM ?? `offshoot@${domain}` },
    phone: { webhookUrl: values.OFFSHOOT_PHONE_WEBHOOK_URL },
    previews: { pauseAfterDays: values.OFFSHOOT_PREVIEW_PAUSE_DAYS ?? 14, sleepAfterSeconds: values.OFFSHOOT_PREVIEW_SLEEP_SECONDS ?? 0 },
    region: {
      id: values.OFFSHOOT_REGION ?? (domain.split('.', 1)[0] as string),
      label: values.OFFSHOOT_REGION_LABEL ?? domain,
      zone: values.OFFSHOOT_REGION_ZONE ?? '',
      timezone: values.OFFSHOOT_REGION_TIMEZONE ?? 'UTC',
      carbonIntensity: values.OFFSHOOT_REGION_CARBON_INTENSITY,
    },
  };
}

function acmeSettings(values: Values): AcmeSettings | undefined {
  const {
    OFFSHOOT_ACME_DIRECTORY: directoryUrl,
    OFFSHOOT_ACME_EMAIL: email,
    OFFSHOOT_ACME_EAB: externalAccount,
    OFFSHOOT_ACME_DNS: dns,
  } = values;
  if (directoryUrl !== undefined) return { directoryUrl, email, externalAccount, dns };
  if (email !== undefined || externalAccount !== undefined || dns !== undefined)
    throw new ConfigError('OFFSHOOT_ACME_DIRECTORY should be set along with the other settings of the authority.');
  return undefined;
}

function parseVariables(env: Record<string, string | undefined>): Values {
  const mistakes = Object.keys(env)
    .filter((name) => name.startsWith('OFFSHOOT_') && !(name in variables))
    .map((name) => `${name} is not a setting of Offshoot; the settings are ${settingNames.join(', ')}.`);
  const values: Record<string, unknown> = {};
  for (const [name, parse] of Object.entries(variables)) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    try {
      values[name] = parse(value);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      mistakes.push(`${name} should be ${error.message}.`);
    }
  }
  if (values['OFFSHOOT_TLS'] === true && String(values['OFFSHOOT_URL']).startsWith('http:'))
    mistakes.push('OFFSHOOT_URL should begin with https: where OFFSHOOT_TLS is on.');
  if (mistakes.length > 0) throw new ConfigError(mistakes.join('\n'));
  return values;
}

const thisMachine = '127.0.0.1';

/** Who is reached over plain HTTP, or has named a proxy, has somebody in front who ends TLS, and is left as they are. */
const isTlsUsual = ({ OFFSHOOT_URL, OFFSHOOT_TRUSTED_PROXIES }: Values) =>
  !OFFSHOOT_URL?.startsWith('http:') && OFFSHOOT_TRUSTED_PROXIES === undefined;

/** By a name rather than by an address where there is one: clients name it in the handshake, and every browser knows where it leads. */
function secureUrl(host: string, port: number) {
  const isHere = host === '::1' || host.startsWith('127.');
  return new URL(`https://${isHere ? 'localhost' : reachable(host)}:${port}`).origin;
}

/** An address that means every address of this machine, for listening, cannot be visited. */
export function reachable(host: string) {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
