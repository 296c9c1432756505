/** Every type of integration. A new one is a line here, and its name is one of the offered ones (rooms/projects/capabilities.ts). */
import { Type, type TSchema } from 'typebox';
import type { OfferedIntegration } from '../../projects/public.ts';
import { fastly, script, webhook } from './activity-hooks.ts';
import type { Field, IntegrationType } from './field.ts';
import { bitbucket, bitbucketServer, gitea, github, gitlab } from './git-hosts.ts';
import { healthEmail, healthPagerduty, healthSlack, healthWebhook } from './health.ts';
import { httplog, newrelic, otlplog, splunk, sumologic, syslog } from './log-forwarding.ts';

/** Profiles are kept elsewhere, for environments that were given credentials there; none has been. */
const blackfire: IntegrationType = { fields: {}, derived: () => ({ environments_credentials: {}, continuous_profiling: false }) };

export const integrationTypes: Record<OfferedIntegration, IntegrationType> = {
  bitbucket,
  bitbucket_server: bitbucketServer,
  blackfire,
  'cdn.fastly': fastly,
  gitea,
  github,
  gitlab,
  'health.email': healthEmail,
  'health.pagerduty': healthPagerduty,
  'health.slack': healthSlack,
  'health.webhook': healthWebhook,
  httplog,
  newrelic,
  otlplog,
  script,
  splunk,
  sumologic,
  syslog,
  webhook,
};

/** What each is for, to somebody who chooses among them. */
const purposes: Record<OfferedIntegration, string> = {
  bitbucket: 'Branches and pull requests at Bitbucket become environments.',
  bitbucket_server: 'Branches and pull requests of a Bitbucket server become environments.',
  blackfire: 'Profiles are kept at Blackfire.',
  'cdn.fastly': 'The cache at Fastly is emptied after deployments.',
  gitea: 'Branches and pull requests of a Gitea or Forgejo become environments.',
  github: 'Branches and pull requests at GitHub become environments.',
  gitlab: 'Branches and merge requests of a GitLab become environments.',
  'health.email': 'Mail to people when something is wrong.',
  'health.pagerduty': 'An incident at PagerDuty when something is wrong.',
  'health.slack': 'A message in Slack when something is wrong.',
  'health.webhook': 'A request to an address of yours when something is wrong.',
  httplog: 'Logs are posted to an address of yours.',
  newrelic: 'Logs are sent to New Relic.',
  otlplog: 'Logs are sent to a collector that speaks OpenTelemetry.',
  script: 'A script of yours runs after activities.',
  splunk: 'Logs are sent to Splunk.',
  sumologic: 'Logs are sent to Sumo Logic.',
  syslog: 'Logs are sent to a syslog receiver.',
  webhook: 'A request to an address of yours after activities.',
};

const types: Record<string, IntegrationType> = integrationTypes;

export const typeOf = (name: string): IntegrationType => {
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (!type) throw new Error(`There is no type of integration ${name}`);
  return type;
};

/** What is sent of an integration of the type, to create or to change it: in either case its type and all that is required. */
const variantOf = ([name, { fields }]: [string, IntegrationType]): TSchema =>
  Type.Object(
    {
      type: Type.String({ enum: [name] }),
      ...Object.fromEntries(
        Object.entries(fields).map(([field, { schema, isRequired, usual }]) => [
          field,
          isRequired && !substituteOf(fields, field) ? schema : Type.Optional(withUsual(schema, usual)),
        ]),
      ),
    },
    { additionalProperties: false, title: name, description: purposes[name as OfferedIntegration], ...requiredUnlessReplaced(fields) },
  );

/** Told to those who draw a form. It is no `default`, which would be put in where a change leaves a field out, and take back what was chosen before. */
const withUsual = (schema: TSchema, usual: unknown): TSchema => (usual === undefined ? schema : { ...schema, 'x-usual': usual });

const substituteOf = (fields: IntegrationType['fields'], field: string) =>
  Object.entries(fields).find(([, { insteadOf }]) => insteadOf === field)?.[0];

/** A field is required unless the one that takes its place is there. */
const requiredUnlessReplaced = (fields: IntegrationType['fields']) => {
  const [rule] = Object.entries(fields).flatMap(([name, { insteadOf }]) =>
    insteadOf === undefined ? [] : [{ if: { required: [name] }, else: { required: [insteadOf] } }],
  );
  return rule ?? {};
};

export type Given = { type: string } & Record<string, unknown>;

/** Exactly one variant, which `type` decides: what is wrong is told of that one alone. */
export const GivenIntegration = Type.Unsafe<Given>({
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: Object.entries(integrationTypes).map(variantOf),
});

export const fieldsOf = (name: string): [string, Field][] => Object.entries(typeOf(name).fields);
