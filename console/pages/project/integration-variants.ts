/** The types of integrations, as the bodies that the link describes; which one is meant is decided by `type`. */
import type { Schema } from '../../api/link.ts';

export interface Variant {
  type: string;
  purpose: string;
  schema: Schema;
}

export const variantsIn = ({ oneOf = [] }: Schema): Variant[] =>
  oneOf.map((schema) => ({
    type: String(schema.properties?.['type']?.enum?.[0] ?? schema.title),
    purpose: schema.description ?? '',
    schema,
  }));

/** The type was chosen before: it is no field of the form. */
export const newOf = ({ schema }: Variant): Schema => {
  const { type: _chosen, ...properties } = schema.properties ?? {};
  return { ...schema, properties };
};

/** What is secret is not shown again; left empty, it stays. */
export function changeOf(variant: Variant, current: Readonly<object>): Schema {
  const { required = [], ...schema } = newOf(variant);
  const isKept = (name: string, { format }: Schema) => format === 'password' && !(name in current);
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    isKept(name, property)
      ? [name, { ...property, description: `${property.description ?? ''} Left empty, it stays as it is.`.trim() }]
      : [name, property],
  );
  return {
    ...schema,
    required: required.filter((name) => name in current),
    properties: Object.fromEntries(properties) as Record<string, Schema>,
  };
}

/** What tells one integration from another of its type. */
const subjects = ['repository', 'project', 'url', 'host', 'channel', 'recipients', 'service_id', 'base_url'] as const;

export function subjectOf(integration: Readonly<object>): string {
  const values = integration as Readonly<Record<string, unknown>>;
  const found = subjects
    .map((name) => values[name])
    .find((value) => (Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== ''));
  return Array.isArray(found) ? found.join(', ') : typeof found === 'string' ? found : '';
}
