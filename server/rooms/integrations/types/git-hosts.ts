/** Integrations with what hosts the project's code: which branches and requests become environments, and how the host is asked. */
import { randomBytes } from 'node:crypto';
import { Type, type TSchema } from 'typebox';
import {
  address,
  choice,
  flag,
  hiddenText,
  orNull,
  required,
  text,
  token,
  type Field,
  type IntegrationType,
  type Values,
} from './field.ts';

const common = {
  fetch_branches: flag(true, 'Whether branches are fetched.'),
  prune_branches: flag(true, 'Whether branches are deleted that are gone at the host; needs `fetch_branches`.'),
  environment_init_resources: choice(
    ['default', 'manual', 'minimum', 'parent'],
    'parent',
    'The resources with which new services of fetched environments begin.',
  ),
};

/** The released client takes the repository out of its address with the slash in front. */
const ownerAndName = (description: string): Field => ({
  schema: Type.String({
    maxLength: 500,
    pattern: String.raw`^/?[^\s/]+(/[^\s/]+)+$`,
    'x-message': 'must have the form owner/name',
    description,
  }),
});

const pullRequests = {
  build_pull_requests: flag(true, 'Whether pull requests become environments.'),
  pull_requests_clone_parent_data: flag(true, 'Whether their environments begin with the data of the parent.'),
};

const mistakes = ({ fetch_branches, prune_branches }: Values): Record<string, string> =>
  prune_branches === true && fetch_branches === false ? { prune_branches: 'needs fetch_branches; send false for both' } : {};

const webhookSecretBytes = 32;

/** With the webhook's secret, the host proves that a delivery is its own. */
const gitHost = (fields: Record<string, Field>, { mistakes: ofHost, ...own }: Partial<IntegrationType> = {}): IntegrationType => ({
  isHooked: true,
  ownSecrets: { webhook_secret: () => randomBytes(webhookSecretBytes).toString('hex') },
  mistakes: (values) => ({ ...mistakes(values), ...ofHost?.(values) }),
  ...own,
  fields: { ...common, ...fields },
});

/** A value of several parts, of which one is never shown. */
const hidden = (part: string): Pick<Field, 'secret'> => {
  const withoutPart = (value: unknown) =>
    value === null ? null : Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== part));
  return { secret: { shownToManagers: withoutPart, shownToOthers: withoutPart } };
};

const draftRequests = {
  build_draft_pull_requests: flag(true, 'Whether drafts do, too; needs `build_pull_requests`.'),
  build_pull_requests_post_merge: flag(false, 'Whether what is built is the result of merging, rather than the branch.'),
};

/** Of an App at GitHub, in the place of a token: our own extension of the published fields. The key is never shown. */
const app: Field = {
  insteadOf: 'token',
  schema: Type.Object(
    {
      app_id: Type.String({ pattern: '^[A-Za-z0-9._-]{1,100}$', description: 'The id of the App, or its client id.' }),
      private_key: Type.String({
        ...hiddenText(8192, 'A private key of the App, in PEM.'),
        contentMediaType: 'application/x-pem-file',
      }),
      installation_id: Type.Optional(
        Type.String({ pattern: '^[0-9]{1,20}$', description: 'Where it is not given, GitHub is asked for that of the repository.' }),
      ),
    },
    { additionalProperties: false, description: 'Credentials of an App; then there is no `token`.' },
  ),
  ...hidden('private_key'),
};

export const github = gitHost(
  {
    token: required(token('An access token.')),
    app,
    base_url: orNull(address('The address of the API, where it is not that of github.com.') as NullableField),
    repository: required(ownerAndName('As `owner/name`.')),
    ...pullRequests,
    ...draftRequests,
  },
  {
    derived: (values) => ({ token_type: 'app' in values ? 'github_app' : 'classic_personal_token' }),
    mistakes: (values) => ('app' in values && 'token' in values ? { app: 'is given in the place of a token; send one of them' } : {}),
  },
);

/** Gitea, and Forgejo, which speaks the same. */
export const gitea = gitHost({
  base_url: required(address('The address of the installation.')),
  token: required(token('An access token.')),
  repository: required(ownerAndName('As `owner/name`.')),
  ...pullRequests,
  build_draft_pull_requests: draftRequests.build_draft_pull_requests,
});

const weeksMax = 52;

export const gitlab = gitHost(
  {
    token: required(token('A private token.')),
    rotate_token: flag(false, 'Whether the token is replaced by a new one, through the API of the host, before it expires.'),
    rotate_token_validity_in_weeks: {
      schema: Type.Integer({ minimum: 1, maximum: weeksMax, description: 'For how long a new token is valid.' }),
      usual: 4,
    },
    base_url: { ...address('The address of the installation.'), usual: 'https://gitlab.com' },
    project: required(ownerAndName('As `namespace/name`.')),
    build_merge_requests: flag(true, 'Whether merge requests become environments.'),
    build_wip_merge_requests: flag(true, 'Whether drafts do, too; needs `build_merge_requests`.'),
    merge_requests_clone_parent_data: flag(true, 'Whether their environments begin with the data of the parent.'),
  },
  { learned: ['token_expires_at'], derived: ({ token_expires_at }) => ({ token_expires_at: token_expires_at ?? null }) },
);

type NullableField = Field & { schema: TSchema & { type: string } };

const partCharactersMax = 1000;

/** Credentials of several parts, of which one is never shown. */
const credentials = (parts: readonly string[], secretPart: string, description: string): Field => {
  const part = (name: string) =>
    Type.String(name === secretPart ? hiddenText(partCharactersMax, 'Never shown again.') : { minLength: 1, maxLength: partCharactersMax });
  return {
    ...orNull({
      schema: Type.Object(Object.fromEntries(parts.map((name) => [name, part(name)])), { additionalProperties: false, description }),
    }),
    ...hidden(secretPart),
  };
};

export const bitbucket = gitHost({
  app_credentials: credentials(['key', 'secret'], 'secret', 'Of an OAuth consumer.'),
  addon_credentials: credentials(['addon_key', 'client_key', 'shared_secret'], 'shared_secret', 'Of an add-on.'),
  repository: required(ownerAndName('As `owner/name`.')),
  ...pullRequests,
  pull_requests_max_pages: orNull({
    schema: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How many pages of pull requests are read at most; null: all.' }),
  }),
  resync_pull_requests: flag(false, 'Whether each build brings the data of the parent again.'),
});

export const bitbucketServer = gitHost({
  url: required(address('The address of the installation.')),
  username: required(text('Whose token it is.')),
  token: required(token('A personal access token.')),
  project: required(text('The key of the project.')),
  repository: required(text('The name of the repository.')),
  ...pullRequests,
});
