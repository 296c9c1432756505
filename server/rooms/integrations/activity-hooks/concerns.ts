/** Whether an integration is to hear that an activity has come to a state. */

/** What an integration wants to hear of. */
export interface HookFilters {
  events: readonly string[];
  environments: readonly string[];
  excluded_environments: readonly string[];
  states: readonly string[];
  result: string;
}

/** An activity at the moment at which it came to a state. */
export interface ActivityChange {
  type: string;
  state: string;
  /** Null: not known yet. */
  result: string | null;
  environments: readonly string[];
}

/** Each delivery is an activity itself, of which nobody hears: that would be the next one. */
export const deliveryTypes: readonly string[] = ['integration.webhook', 'integration.script'];

export const concerns = (filters: HookFilters, { type, state, result, environments }: ActivityChange): boolean =>
  !deliveryTypes.includes(type) &&
  filters.states.includes(state) &&
  matchesAny(filters.events, type) &&
  isWhere(filters, environments) &&
  (filters.result === '*' || result === null || result === filters.result);

/** What concerns the project as a whole is heard by those who want to hear of every environment. */
const isWhere = ({ environments: wanted, excluded_environments: excluded }: HookFilters, environments: readonly string[]): boolean =>
  (environments.length === 0 ? wanted.includes('*') : environments.some((each) => matchesAny(wanted, each))) &&
  !environments.some((each) => matchesAny(excluded, each));

const matchesAny = (patterns: readonly string[], text: string) => patterns.some((pattern) => matches(pattern, text));

/** The parts between stars are looked for one after the other: a regular expression made of many stars could take hours. */
export function matches(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  if (others.length === 0) return pattern === text;
  const last = others.pop() ?? '';
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
