/** A container of a stack with all that only the machine knows: the layers of its image, the folders of its volumes, and where domains are that it may reach. */
import { join } from 'node:path';
import { toolsIn } from '../../../catalogue/catalogue.ts';
import { logFile } from '../../../drivers/logs/log-folders.ts';
import type { TracesEndpoint } from '../../../drivers/otlp/reporter.ts';
import type { Container } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import { layerFolder } from '../../builds/public.ts';
import { logsVolume, type WantedContainer } from './containers.ts';
import { outboundOf, type DomainAddresses } from './outbound.ts';
import { tracingVariables } from './tracing-variables.ts';

/** Where images and volumes are on this machine, and domains on the internet. */
export interface StackLocations {
  addresses: DomainAddresses;
  layers: ReadonlyMap<string, readonly string[]>;
  folders: ReadonlyMap<string, string>;
  /** Undefined: nobody takes traces here. */
  traces?: TracesEndpoint | undefined;
}

export function located(
  { image, own, mounts, outbound, logOf, reporter, ...container }: WantedContainer,
  { addresses, layers, folders, traces }: StackLocations,
): Container {
  const found = layers.get(image);
  if (!found) throw new Error(`The image ${image} was not looked for`);
  return {
    ...container,
    ...(reporter && traces && { env: tracingVariables(traces, reporter, container.env) }),
    ...(outbound && { outbound: outboundOf(outbound, addresses) }),
    ...(logOf !== undefined && { output: logFile(folders.get(logsVolume) ?? '', logOf, 'app') }),
    layers: own ? layersWith(own, found, { layers, folders }) : found,
    mounts: mounts.map(({ volume, ...mount }) => {
      const from = folders.get(volume);
      if (from === undefined) throw new Problem('unavailable', `The volume ${volume}, which ${container.name} needs, is not there.`);
      return { from, ...mount };
    }),
  };
}

/** Our tools lie below an image that people brought, whose own come first; on top of it are the layers of the app's build. */
function layersWith(
  { image, volume, layers: count }: NonNullable<WantedContainer['own']>,
  tools: readonly string[],
  { layers, folders }: Pick<StackLocations, 'layers' | 'folders'>,
): string[] {
  const brought = image === null ? [] : layers.get(image);
  const folder = folders.get(volume);
  if (!brought) throw new Error(`The image ${image} was not looked for`);
  if (folder === undefined) throw new Problem('unavailable', `The volume ${volume}, which has what was built, is not there.`);
  return [...toolsIn(tools), ...brought, ...Array.from({ length: count }, (_, index) => join(folder, layerFolder(index)))];
}
