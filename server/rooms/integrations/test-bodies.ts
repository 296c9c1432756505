/** A body that works for each type of integration, with every secret spelled so that a test finds it again wherever it may have leaked to. */
import type { OfferedIntegration } from '../projects/public.ts';

export const leak = 'top-secret';

type Body = { type: string } & Record<string, unknown>;

const requiredFields: Record<OfferedIntegration, Record<string, unknown>> = {
  bitbucket: { repository: 'acme/shop', app_credentials: { key: 'consumer', secret: leak } },
  bitbucket_server: { url: 'https://git.example.org', username: 'ada', token: leak, project: 'ACME', repository: 'shop' },
  blackfire: {},
  'cdn.fastly': { token: leak, service_id: 'service' },
  gitea: { base_url: 'https://git.example.org', token: leak, repository: 'acme/shop' },
  github: { token: leak, repository: 'acme/shop' },
  gitlab: { token: leak, project: 'acme/shop' },
  'health.email': { recipients: ['#admins', 'ada@example.org'] },
  'health.pagerduty': { routing_key: leak },
  'health.slack': { token: leak, channel: '#alerts' },
  'health.webhook': { url: `https://hooks.example.org/${leak}`, shared_key: leak },
  httplog: { url: `https://logs.example.org/${leak}`, headers: { authorization: leak } },
  newrelic: { url: 'https://logs.example.org', license_key: leak },
  otlplog: { url: 'https://logs.example.org', headers: { authorization: leak } },
  script: { script: `console.log(${JSON.stringify(leak)})` },
  splunk: { url: 'https://logs.example.org', index: 'main', token: leak },
  sumologic: { url: `https://logs.example.org/${leak}` },
  syslog: { host: 'logs.example.org', port: 6514, auth_token: leak },
  webhook: { url: `https://hooks.example.org/${leak}`, shared_key: leak },
};

export const bodies: Body[] = Object.entries(requiredFields).map(([type, fields]) => ({ type, ...fields }));

export const bodyFor = (type: OfferedIntegration): Body => ({ type, ...requiredFields[type] });
