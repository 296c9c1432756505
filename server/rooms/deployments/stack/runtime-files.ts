/**
 * Files in which a running app, worker or task finds what it is told: `/run/config.json` for programs that look there rather than at their variables, and
 * settings of its runtime. What is in both is the same, because both come from the same stack. (`/run/peers.json`, with the addresses of its instances, is
 * the runtime's, who knows them.)
 */
import { runtimeOfType } from '../../../catalogue/catalogue.ts';
import type { SettingsFile } from '../../../catalogue/runtime.ts';
import type { Limits } from '../../../drivers/runtime/runtime.ts';
import type { Json } from '../../builds/public.ts';
import type { Endpoints } from './relationships.ts';
import type { Stack } from './stack.ts';
import { appDocument, toldRoutes, toldVariables, type Recipient, variablesNamed } from './runtime-variables.ts';

export const peersPath = '/run/peers.json';
const configPath = '/run/config.json';

export function runtimeFiles(
  stack: Stack,
  container: Recipient,
  relationships: Endpoints,
  limits: Pick<Limits, 'cpu' | 'memoryBytes'>,
): Record<string, string> {
  const config = {
    info: { limits: { cpu: limits.cpu, memory: Math.floor(limits.memoryBytes / 2 ** 20) } },
    application: appDocument(stack, container),
    relationships,
    routes: toldRoutes(stack),
    variables: toldVariables(stack, container),
  };
  const settings = runtimeOfType(container.type)?.settings;
  return {
    [configPath]: `${JSON.stringify(config)}\n`,
    ...(settings && { [settings.path]: iniOf(stack, container, settings) }),
  };
}

/** The settings of extensions, then those of variables, which have the last word. */
function iniOf(stack: Stack, container: Recipient, { prefix }: SettingsFile): string {
  const { runtime } = container;
  const ofExtensions = 'extensions' in runtime ? runtime.extensions.flatMap(settingsOfExtension) : [];
  return [...ofExtensions, ...Object.entries(variablesNamed(prefix, stack, container))]
    .filter(([name]) => /^[A-Za-z_][\w.-]*$/.test(name))
    .map(([name, value]) => `${name} = ${iniValue(value)}\n`)
    .join('');
}

const settingsOfExtension = ({ name, configuration }: { name: string; configuration: Record<string, Json> }): [string, string][] =>
  Object.entries(configuration).map(([key, value]) => [
    key.startsWith(`${name}.`) ? key : `${name}.${key}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);

/** Plain words, numbers and sums of constants are written as they are; all else as quoted text in which no character is special. */
function iniValue(value: string): string {
  if (/^[\w.:/,+-]*$/.test(value) || /^[A-Z0-9_ |&~^()]+$/.test(value)) return value;
  const line = value.replaceAll(/[\r\n\0]+/g, ' ');
  return line.includes("'") ? `"${line.replaceAll(/(["\\])/g, '\\$1').replaceAll('${', '$\\{')}"` : `'${line}'`;
}
