/** How far a deployment has come, for those who watch: by the last step that is done, as a share of the time that all of it usually takes. */
import type { Work } from '../../../kernel/activity.ts';

const percentAfter: Readonly<Record<string, number>> = {
  'validate configuration': 5,
  'configure resources': 8,
  'find builds': 50,
  'check backup': 2,
  'prepare deployment': 52,
  'fetch data': 56,
  'make volumes': 58,
  'close environment': 62,
  'replace data': 66,
  'open services': 78,
  'sanitize data': 82,
  'open applications': 90,
  'run deploy hooks': 94,
  'open environment': 96,
  'make current': 97,
  'clean up': 98,
};
const builds = { prefix: 'build ', from: 8, to: 50 };

/** Wraps the work so that each finished step is reported. */
export function withProgress<W extends Pick<Work<unknown>, 'step' | 'record' | 'progress'>>(work: W): W {
  const apps = { begun: 0, built: 0 };
  const begin = (name: string) => {
    if (name.startsWith(builds.prefix)) apps.begun += 1;
  };
  const end = (name: string) => {
    if (name.startsWith(builds.prefix)) apps.built += 1;
    const percent = name.startsWith(builds.prefix)
      ? builds.from + ((builds.to - builds.from) * apps.built) / apps.begun
      : percentAfter[name];
    if (percent !== undefined) work.progress(percent);
  };
  return {
    ...work,
    step: async <T>(...[name, ...rest]: Parameters<typeof work.step<T>>) => {
      begin(name);
      const result = await work.step(name, ...rest);
      end(name);
      return result;
    },
    record: async <T>(...[name, ...rest]: Parameters<typeof work.record<T>>) => {
      const result = await work.record(name, ...rest);
      end(name);
      return result;
    },
  };
}
