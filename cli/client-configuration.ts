/** What points the released command-line client, `upsun`, at an installation: addresses, and the public key of its SSH server. No secret is in it. */
import type { Config } from '../server/config.ts';

/** Where the client keeps what it knows, below the home folder of whoever uses it. */
export const clientFolder = '.offshoot-cli';

/** The names of the keys are the client's. */
export const clientConfiguration = ({ url, domain, sshPort }: Pick<Config, 'url' | 'domain' | 'sshPort'>, hostKey?: string) => ({
  application: {
    name: 'Offshoot CLI',
    slug: 'offshoot',
    executable: 'upsun',
    env_prefix: 'UPSUN_CLI_',
    user_config_dir: clientFolder,
  },
  service: {
    name: 'Offshoot',
    env_prefix: 'PLATFORM_',
    project_config_dir: '.upsun',
    project_config_flavor: 'upsun',
    docs_url: `${url}/docs`,
  },
  api: {
    base_url: url,
    auth_url: url,
    oauth2_client_id: 'upsun-cli',
    // Otherwise the client downloads a program to keep its tokens in.
    disable_credential_helpers: true,
    organization_types: ['flexible', 'fixed'],
    default_organization_type: 'flexible',
    organizations: true,
    centralized_permissions: true,
    teams: true,
    user_verification: true,
    metrics: true,
    sizing: true,
  },
  ssh: {
    domain_wildcards: [`*.${domain}`],
    // The client drops ports from SSH addresses. The alias is what the key is known by, whatever address and port lead to it.
    options: [`Port ${sshPort}`, `HostKeyAlias ${domain}`, ...localHostName(domain, url)],
    host_keys: hostKey === undefined ? [] : [`${domain} ${hostKey}`],
  },
  detection: {
    git_remote_name: 'offshoot',
    git_domain: domain,
    site_domains: [domain],
    cluster_header: 'X-Platform-Cluster',
  },
  // These are updates of the client itself: it would ask its makers.
  updates: { check: false },
});

/** Browsers know where names below localhost lead; SSH asks the system, which may not. */
const localHostName = (domain: string, url: string) =>
  domain === 'localhost' || domain.endsWith('.localhost') ? [`HostName ${new URL(url).hostname.replaceAll(/[[\]]/g, '')}`] : [];
