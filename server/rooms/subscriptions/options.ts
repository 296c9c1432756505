/** What a project can be made with. A plan is only a name, by which the price list knows it; clients send those that they know from elsewhere. */
import { Type } from 'typebox';
import type { Config } from '../../config.ts';
import { Line, nullable } from '../../kernel/schema.ts';
import { regionsOf } from '../regions/public.ts';

/** The one plan that is offered. */
export const planOffered = 'flexible';

const sizes = ['standard', 'medium', 'large', 'xlarge', '2xlarge'];
const plans = [planOffered, 'development', ...sizes, '4xlarge', '8xlarge', ...sizes.map((size) => `${size}-high-memory`)];

export const environmentsDefault = 1000;
export const storageMibDefault = 5120;
const storageMibStep = 1024;
const storageMibMax = 1024 * 1024 * 1024;
const environmentsMax = 1_000_000;
const titleCharactersMax = 250;

export const Plan = Type.String({ enum: plans });
export const Environments = Type.Integer({ minimum: 1, maximum: environmentsMax });
export const Storage = Type.Integer({
  minimum: storageMibStep,
  maximum: storageMibMax,
  multipleOf: storageMibStep,
  description: 'MiB, in steps of 1024.',
});
export const ProjectTitle = Type.String({
  minLength: 1,
  maxLength: titleCharactersMax,
  pattern: String.raw`^[^\u0000-\u001f\u007f]*$`,
  'x-message': 'must be one line without control characters',
});

/** Options of a contract by their published names. They are kept and shown, and the price list can charge for some; nothing else follows from them. */
const contractOptionNames = [
  'big_dev',
  'big_dev_service',
  'backups',
  'observability_suite',
  'blackfire',
  'continuous_profiling',
  'project_support_level',
] as const;
const contractOption = Line(100, { description: 'Kept and shown; nothing else follows from it.' });
export const contractOptions = Object.fromEntries(contractOptionNames.map((name) => [name, contractOption])) as Record<
  (typeof contractOptionNames)[number],
  typeof contractOption
>;

const anyObject = Type.Unsafe<object>({ type: 'object', additionalProperties: true });
const texts = Type.Array(Type.String());

export const ProjectOptions = Type.Object({
  defaults: Type.Object({ settings: anyObject, variables: anyObject, access: anyObject, capabilities: anyObject }),
  enforced: Type.Object({ settings: anyObject, capabilities: anyObject }),
  regions: texts,
  plans: texts,
  billing: anyObject,
});

export const projectOptions = (config: Pick<Config, 'region' | 'url'>) => ({
  defaults: { settings: {}, variables: {}, access: {}, capabilities: {} },
  enforced: { settings: {}, capabilities: {} },
  regions: regionsOf(config).map(({ id }) => id),
  plans: [planOffered],
  billing: {},
});

/** The options of a project that is about to be created. */
export const SetupOptions = Type.Object({
  ...ProjectOptions.properties,
  initialize: anyObject,
  plan_titles: Type.Unsafe<object>({ type: 'object', additionalProperties: { type: 'string' } }),
  sellables: anyObject,
  features: Type.Object({ backups: anyObject }),
  container_sizes: texts,
  debug: nullable(Type.Object({})),
});

export const setupOptions = (config: Pick<Config, 'region' | 'url'>) => ({
  ...projectOptions(config),
  initialize: {},
  plan_titles: { [planOffered]: 'Flexible' },
  sellables: {},
  features: { backups: {} },
  container_sizes: [],
  debug: null,
});
