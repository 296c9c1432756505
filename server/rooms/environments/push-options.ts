/** What can be said with `git push -o`: one table, so that a wrong or unknown option is answered with what there is. */
import { Problem } from '../../kernel/problem.ts';

export interface PushOptions {
  status?: 'active';
  title?: string;
  parent?: string;
  type?: string;
  clone_parent_on_create?: boolean;
  resources_init?: string;
  strategy?: string;
}

type Read = (value: string, options: PushOptions) => string | undefined;

const oneOf =
  (values: readonly string[], set: (options: PushOptions, value: string) => void): Read =>
  (value, options) => {
    if (!values.includes(value.toLowerCase())) return `must be ${values.join(' or ')}`;
    set(options, value.toLowerCase());
    return undefined;
  };

const titleCharactersMax = 250;

const known: Record<string, Read> = {
  'environment.status': oneOf(['active'], (options) => (options.status = 'active')),
  'environment.title': (value, options) => {
    // oxlint-disable-next-line no-control-regex -- control characters are what is refused
    if (value.length > titleCharactersMax || /[\u0000-\u001f\u007f]/.test(value))
      return `must be one line of at most ${titleCharactersMax} characters`;
    options.title = value;
    return undefined;
  },
  'environment.parent': (value, options) => {
    options.parent = value;
    return undefined;
  },
  'environment.type': oneOf(['production', 'staging', 'development'], (options, value) => (options.type = value)),
  'environment.clone_parent_on_create': oneOf(['true', 'false'], (options, value) => (options.clone_parent_on_create = value === 'true')),
  'resources.init': oneOf(['default', 'manual', 'minimum', 'parent'], (options, value) => (options.resources_init = value)),
  'deploy.strategy': oneOf(['rolling', 'stopstart'], (options, value) => (options.strategy = value)),
};

/** An unknown option only causes a warning, because some clients also send options that are meant for other servers. */
export function parsePushOptions(given: readonly string[]): { options: PushOptions; warnings: string[] } {
  const options: PushOptions = {};
  const [warnings, mistakes]: [string[], string[]] = [[], []];
  for (const option of given) {
    const [name = '', ...rest] = option.split('=');
    const read = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!read)
      warnings.push(
        `The push option ${JSON.stringify(name.slice(0, 100))} is not known here, and is ignored; known are ${Object.keys(known).join(', ')}.`,
      );
    const mistake = read?.(rest.join('='), options);
    if (mistake) mistakes.push(`The push option ${name} ${mistake}.`);
  }
  if (mistakes.length > 0) throw new Problem('invalid-request', mistakes.join(' '));
  return { options, warnings };
}
