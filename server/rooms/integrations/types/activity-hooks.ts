/** Integrations that something is sent to, or that are run, when activities come to a state. */
import { Type } from 'typebox';
import { activityLife } from '../../../kernel/activity-life-cycle.ts';
import {
  choice,
  flag,
  forManagers,
  hiddenText,
  list,
  orNull,
  required,
  secretAddress,
  text,
  token,
  type Field,
  type IntegrationType,
} from './field.ts';

const pattern = Type.String({
  minLength: 1,
  maxLength: 250,
  pattern: String.raw`^[^\u0000-\u001f\u007f]+$`,
  'x-message': 'must be one line',
});

/** Which activities concern the integration (concerned.ts). */
const filters = {
  events: list(pattern, ['*'], 'Types of activities, such as `environment.push`; `*` stands for any characters.'),
  environments: list(pattern, ['*'], 'Names of environments; `*` stands for any characters.'),
  excluded_environments: list(pattern, [], 'Environments that are left out.'),
  states: list(Type.String({ enum: [...activityLife.states] }), ['complete'], 'The states of activities in which they are told.'),
  result: choice(['*', 'failure', 'success'], '*', 'How an activity has to have ended.'),
};

const activityHook = (fields: Record<string, Field>): IntegrationType => ({ fields: { ...filters, ...fields } });

const keyCharactersMax = 1000;
const scriptCharactersMax = 256 * 1024;

/** Who may not manage integrations is not told whether there is one. */
export const sharedKey: Field = orNull({
  schema: Type.String(hiddenText(keyCharactersMax, 'What requests are signed with.')),
});

export const webhook = activityHook({
  shared_key: forManagers(sharedKey, () => null),
  url: required(secretAddress('Where activities are posted to.')),
});

export const script = activityHook({
  script: required(
    forManagers({ schema: Type.String({ minLength: 1, maxLength: scriptCharactersMax, description: 'JavaScript.' }) }, () => ''),
  ),
});

export const fastly = activityHook({
  token: required(token('An API token.')),
  service_id: required(text('Of the service whose cache is emptied.')),
  tls_certificates: flag(false, 'Whether certificates of the project are put there, too.'),
});
