/**
 * How many different values an environment may report in one respect, such as the names of transactions. Each makes a row somewhere, so that whoever puts a
 * number or an address into a name would fill the store; what comes beyond the bound is counted without it.
 */

export interface DistinctValues {
  of(environment: string): Admits;
}

/** Whether the value is one of the first of the environment, in this respect. */
export type Admits = (respect: string, value: string) => boolean;

const environmentsMax = 2000;
/** All values are forgotten after a day, so that names of last month's code do not stand in the way of today's. */
const rememberedMilliseconds = 24 * 60 * 60 * 1000;

interface Known {
  since: number;
  values: Map<string, Set<string>>;
}

export function openDistinctValues(valuesMax: number, now: () => number = Date.now): DistinctValues {
  const environments = new Map<string, Known>();
  const knownOf = (environment: string): Known => {
    const found = environments.get(environment);
    if (found && now() - found.since < rememberedMilliseconds) return found;
    environments.delete(environment);
    const [longest] = environments.keys();
    if (longest !== undefined && environments.size >= environmentsMax) environments.delete(longest);
    const made = { since: now(), values: new Map<string, Set<string>>() };
    environments.set(environment, made);
    return made;
  };
  return {
    of(environment) {
      const { values } = knownOf(environment);
      return (respect, value) => {
        const known = values.get(respect) ?? new Set<string>();
        if (known.has(value)) return true;
        if (known.size >= valuesMax) return false;
        values.set(respect, known.add(value));
        return true;
      };
    },
  };
}
