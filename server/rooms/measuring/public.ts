/** What others may know of measurements: where containers report traces, and which apps do. */
import type { Config } from '../../config.ts';
import { machineHost } from '../../drivers/runtime/runtime.ts';
import { openReporterTokens, type TracesEndpoint } from '../../drivers/otlp/reporter.ts';
import type { Secrets } from '../../kernel/secrets.ts';

export { ownReportsOf, type OwnReports } from './own-reports.ts';

/** Plain HTTP: what is sent there does not leave the machine. */
export const tracesEndpoint = ({ tracesPort }: Pick<Config, 'tracesPort'>, secrets: Pick<Secrets, 'derived'>): TracesEndpoint => ({
  url: `http://${machineHost}:${tracesPort}`,
  tokens: openReporterTokens(secrets),
});
