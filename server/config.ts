/**
 * Every environment variable the platform reads, parsed once. A bad value or an unknown OFFSHOOT_* name stops the start with a sentence
 * for each mistake: a setting that is silently ignored is worse than a refusal.
 */
import { resolve } from 'node:path';
import { exampleTypes } from './catalogue/example-types.ts';
import type { BackupPlace } from './drivers/blobs/places.ts';
import * as read from './setting-values.ts';
import {
  ConfigError,
  type DevelopmentSizes,
  type DnsSettings,
  type DomainVerification,
  type Energy,
  type IdentityProviderSettings,
  type LogLevel,
  type Overcommit,
  type RelayLimits,
} from './setting-values.ts';

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
  /** The port at which containers, and nobody else, report traces. */
  tracesPort: number;
  /** Where mail of apps is taken: containers, and nobody else, reach the port, as 25; and how much of it is taken from an environment. */
  relay: { port: number; limits: RelayLimits };
  /** Where containers that are new in a development environment get their sizes from, unless somebody says otherwise. */
  developmentSizes: DevelopmentSizes;
  /** How many times what the machine has may be given to environments. */
  overcommit: Overcommit;
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
  /** Other identity providers that people may sign in with. */
  identityProviders: readonly IdentityProviderSettings[];
  /** Where new tickets and replies are mailed, in place of to the operators; and a help desk that is told of all that happens to tickets. */
  support: { email: string | undefined; webhook: { url: string; shared_key: string | null } | undefined };
  /** A payment provider of one's own, which is told of invoices and tells what became of them. Undefined: the operator marks what is paid. */
  payment: {
    webhook: { url: string; shared_key: string } | undefined;
    /** The provider's page at which organizations say how they pay, without which they can make nothing that costs more. Undefined: nobody has to. */
    sourcesUrl: string | undefined;
  };
  /** Addresses and networks that are not public, but that containers may reach, and that users may have the platform visit. */
  allowPrivateAddresses: readonly string[];
  /** Registries of images, as `host:port`, that are asked over plain HTTP. */
  plainRegistries: readonly string[];
  /** Whether whoever adds a domain has to prove that it is theirs; `released`: only of one that another organization had. */
  domainVerification: DomainVerification;
  /** The authority (ACME) that automatic certificates come from. Undefined: there is none but the installation's own. */
  acme: AcmeSettings | undefined;
  /** When environments other than production are paused for want of deployments, and sleep for want of visitors, unless they say otherwise; 0 for never. */
  previews: { pauseAfterDays: number; sleepAfterSeconds: number };
  /** Where this installation stands, as its users see it. The carbon intensity (g/kWh) is undefined where the operator did not set it. */
  region: { id: string; label: string; zone: string; timezone: string; carbonIntensity: number | undefined };
  /** What the machine draws, for the account of carbon. */
  energy: Energy;
  /** Lets a program read `/metrics`, as an operator may. */
  metricsToken: string | undefined;
}

export interface AcmeSettings {
  directoryUrl: string;
  /** Where the authority writes to. */
  email: string | undefined;
  /** By which an authority knows that the installation is a customer of its own. */
  externalAccount: { keyId: string; hmacKey: string } | undefined;
  /** Which of the authority's profiles certificates are asked for with, such as one of six days. Undefined: the authority chooses. */
  profile: string | undefined;
  /** How TXT records are set, for wildcards. Undefined: no wildcards. */
  dns: DnsSettings | undefined;
}

const variables = {
  OFFSHOOT_HOST: read.host,
  OFFSHOOT_PORT: read.port,
  OFFSHOOT_SSH_PORT: read.port,
  OFFSHOOT_TRACES_PORT: read.port,
  OFFSHOOT_RELAY_PORT: read.port,
  OFFSHOOT_TLS: read.onOrOff,
  OFFSHOOT_HTTP_PORT: read.port,
  OFFSHOOT_HTTPS_PORT: read.port,
  OFFSHOOT_EDGE_PROCESSES: read.processes,
  OFFSHOOT_OVERCOMMIT: read.overcommit,
  OFFSHOOT_DEVELOPMENT_SIZES: read.developmentSizes,
  OFFSHOOT_URL: read.url,
  OFFSHOOT_DOMAIN: read.domain,
  OFFSHOOT_DOMAIN_VERIFICATION: read.domainVerification,
  OFFSHOOT_DATA: (value: string) => resolve(value),
  OFFSHOOT_VOLUMES: (value: string) => resolve(value),
  OFFSHOOT_IMAGES: (value: string) => resolve(value),
  OFFSHOOT_CA_CERTIFICATES: read.certificatesFile,
  OFFSHOOT_IMAGE_UPDATE_DAYS: read.numberUpTo(read.imageUpdateDaysMax, 'days'),
  OFFSHOOT_IMAGES_AHEAD: read.imagesAhead,
  OFFSHOOT_BACKUPS: read.backupPlaces,
  OFFSHOOT_SECRET_KEY: read.secretKeys,
  OFFSHOOT_ADMIN_EMAIL: read.email,
  OFFSHOOT_ADMIN_PASSWORD: read.atLeast(read.passwordCharactersMin),
  OFFSHOOT_ADMIN_API_TOKEN: read.atLeast(read.apiTokenCharactersMin),
  OFFSHOOT_IDENTITY_PROVIDERS: read.identityProviders,
  OFFSHOOT_TRUSTED_PROXIES: read.addresses,
  OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: read.privateAddresses,
  OFFSHOOT_PLAIN_REGISTRIES: read.plainRegistries,
  OFFSHOOT_ACME_DIRECTORY: read.directoryUrl,
  OFFSHOOT_ACME_EMAIL: read.email,
  OFFSHOOT_ACME_EAB: read.externalAccount,
  OFFSHOOT_ACME_PROFILE: read.acmeProfile,
  OFFSHOOT_ACME_DNS: read.dnsSettings,
  OFFSHOOT_PREVIEW_PAUSE_DAYS: read.numberUpTo(read.pauseDaysMax, 'days'),
  OFFSHOOT_PREVIEW_SLEEP_SECONDS: read.numberUpTo(read.sleepSecondsMax, 'seconds'),
  OFFSHOOT_LOG_LEVEL: read.logLevel,
  OFFSHOOT_SMTP_URL: read.smtpUrl,
  OFFSHOOT_MAIL_FROM: read.email,
  OFFSHOOT_RELAY_LIMITS: read.relayLimits,
  OFFSHOOT_PHONE_WEBHOOK_URL: read.webhookUrl,
  OFFSHOOT_SUPPORT_EMAIL: read.email,
  OFFSHOOT_SUPPORT_WEBHOOK_URL: read.webhookUrl,
  OFFSHOOT_SUPPORT_WEBHOOK_KEY: read.atLeast(read.webhookKeyCharactersMin),
  OFFSHOOT_PAYMENT_WEBHOOK_URL: read.webhookUrl,
  OFFSHOOT_PAYMENT_WEBHOOK_KEY: read.atLeast(read.webhookKeyCharactersMin),
  OFFSHOOT_PAYMENT_SOURCES_URL: read.webhookUrl,
  OFFSHOOT_REGION: read.regionId,
  OFFSHOOT_REGION_LABEL: read.line,
  OFFSHOOT_REGION_ZONE: read.line,
  OFFSHOOT_REGION_TIMEZONE: read.timezone,
  OFFSHOOT_REGION_CARBON_INTENSITY: read.carbonIntensity,
  OFFSHOOT_ENERGY: read.energy,
  OFFSHOOT_METRICS_TOKEN: read.atLeast(read.metricsTokenCharactersMin),
  DATABASE_URL: read.databaseUrl,
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
    tracesPort: values.OFFSHOOT_TRACES_PORT ?? 4319,
    relay: { port: values.OFFSHOOT_RELAY_PORT ?? 4325, limits: values.OFFSHOOT_RELAY_LIMITS ?? read.relayLimitsUsual },
    edge: { port: values.OFFSHOOT_HTTP_PORT ?? 8000, httpsPort, processes: values.OFFSHOOT_EDGE_PROCESSES ?? 1 },
    developmentSizes: values.OFFSHOOT_DEVELOPMENT_SIZES ?? 'parent',
    overcommit: { ...read.overcommitUsual, ...values.OFFSHOOT_OVERCOMMIT },
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
    identityProviders: values.OFFSHOOT_IDENTITY_PROVIDERS ?? [],
    trustedProxies: values.OFFSHOOT_TRUSTED_PROXIES ?? [],
    allowPrivateAddresses: values.OFFSHOOT_ALLOW_PRIVATE_ADDRESSES ?? [],
    plainRegistries: values.OFFSHOOT_PLAIN_REGISTRIES ?? [],
    acme: acmeSettings(values),
    logLevel: values.OFFSHOOT_LOG_LEVEL ?? 'info',
    mail: { smtpUrl: values.OFFSHOOT_SMTP_URL, from: values.OFFSHOOT_MAIL_FROM ?? `offshoot@${domain}` },
    phone: { webhookUrl: values.OFFSHOOT_PHONE_WEBHOOK_URL },
    support: supportSettings(values),
    payment: paymentSettings(values),
    previews: { pauseAfterDays: values.OFFSHOOT_PREVIEW_PAUSE_DAYS ?? 14, sleepAfterSeconds: values.OFFSHOOT_PREVIEW_SLEEP_SECONDS ?? 0 },
    region: {
      id: values.OFFSHOOT_REGION ?? (domain.split('.', 1)[0] as string),
      label: values.OFFSHOOT_REGION_LABEL ?? domain,
      zone: values.OFFSHOOT_REGION_ZONE ?? '',
      timezone: values.OFFSHOOT_REGION_TIMEZONE ?? 'UTC',
      carbonIntensity: values.OFFSHOOT_REGION_CARBON_INTENSITY,
    },
    energy: values.OFFSHOOT_ENERGY ?? read.energyUsual,
    metricsToken: values.OFFSHOOT_METRICS_TOKEN,
  };
}

function supportSettings(values: Values): Config['support'] {
  const { OFFSHOOT_SUPPORT_EMAIL: email, OFFSHOOT_SUPPORT_WEBHOOK_URL: url, OFFSHOOT_SUPPORT_WEBHOOK_KEY: key } = values;
  if (url !== undefined) return { email, webhook: { url, shared_key: key ?? null } };
  if (key !== undefined) throw new ConfigError('OFFSHOOT_SUPPORT_WEBHOOK_URL should be set along with OFFSHOOT_SUPPORT_WEBHOOK_KEY.');
  return { email, webhook: undefined };
}

/** What is told of money is always signed, both ways. */
function paymentSettings(values: Values): Config['payment'] {
  const { OFFSHOOT_PAYMENT_WEBHOOK_URL: url, OFFSHOOT_PAYMENT_WEBHOOK_KEY: key, OFFSHOOT_PAYMENT_SOURCES_URL: sourcesUrl } = values;
  if (url === undefined && key === undefined) {
    if (sourcesUrl !== undefined)
      throw new ConfigError('OFFSHOOT_PAYMENT_WEBHOOK_URL should be set along with OFFSHOOT_PAYMENT_SOURCES_URL.');
    return { webhook: undefined, sourcesUrl };
  }
  if (url === undefined || key === undefined)
    throw new ConfigError('OFFSHOOT_PAYMENT_WEBHOOK_URL and OFFSHOOT_PAYMENT_WEBHOOK_KEY should be set together.');
  return { webhook: { url, shared_key: key }, sourcesUrl };
}

function acmeSettings(values: Values): AcmeSettings | undefined {
  const {
    OFFSHOOT_ACME_DIRECTORY: directoryUrl,
    OFFSHOOT_ACME_EMAIL: email,
    OFFSHOOT_ACME_EAB: externalAccount,
    OFFSHOOT_ACME_PROFILE: profile,
    OFFSHOOT_ACME_DNS: dns,
  } = values;
  if (directoryUrl !== undefined) return { directoryUrl, email, externalAccount, profile, dns };
  if ([email, externalAccount, profile, dns].some((each) => each !== undefined))
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
