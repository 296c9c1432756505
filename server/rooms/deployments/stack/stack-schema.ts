/**
 * Stacks that were written down elsewhere, such as in a backup. One is parsed before anything is made of it: what does not fit, or does not fit together, is
 * said then, and nothing that relies on it fails half way.
 */
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { ProjectId } from '../../../ids.ts';
import { environmentTypes } from '../../../permissions.ts';
import { flawOf, mapBy, mapOf, oneOf, orNull } from '../../../kernel/stored-json.ts';
import { HttpAccessSchema, namePattern, ProjectModelSchema, ResolvedRouteSchema, SlugImageSchema, workersOf } from '../../builds/public.ts';
import { containerProfiles, profileOf } from '../sizes/sizes.ts';
import type { Stack } from './stack.ts';

const ShortId = Type.String({ pattern: '^[a-z2-7]{13}$' });
const Text = Type.String();

const Size = Type.Object({
  profile_size: Text,
  instance_count: Type.Integer({ minimum: 0 }),
  disk: orNull(Type.Number({ minimum: 0 })),
});

const Variable = Type.Object({
  name: Text,
  value: Text,
  is_json: Type.Boolean(),
  is_sensitive: Type.Boolean(),
  visible_build: Type.Boolean(),
  visible_runtime: Type.Boolean(),
  application_scope: Type.Array(Text),
});

const Account = Type.Object({ name: Text, password: Text, privileges: mapOf(oneOf('ro', 'rw', 'admin')) });

const StackSchema = Type.Object({
  id: ShortId,
  deployment: Type.Object({ id: ShortId, number: Type.Integer(), created_at: Text }),
  project: Type.Object({ id: ProjectId, title: Text, organization_id: Text, entropy: Text }),
  environment: Type.Object({ id: Text, machine_name: Text, type: oneOf(...environmentTypes), is_main: Type.Boolean() }),
  commit_id: Type.String({ pattern: '^[0-9a-f]{40,64}$' }),
  model: ProjectModelSchema,
  slugs: mapBy(
    namePattern,
    Type.Object({ slug_id: Text, tree_id: Text, config_id: Text, volume: Text, image: Type.Optional(SlugImageSchema) }),
  ),
  sizes: Type.Object({
    services: mapBy(namePattern, Size),
    webapps: mapBy(namePattern, Size),
    workers: mapBy(namePattern, Size),
    tasks: mapBy(namePattern, Size),
  }),
  routes: mapOf(ResolvedRouteSchema),
  settings: Type.Object({ http_access: HttpAccessSchema, enable_smtp: Type.Boolean(), restrict_robots: Type.Boolean() }),
  secrets: Type.Object({ variables: Type.Array(Variable), accounts: mapOf(mapOf(Account)) }),
});

/** The flaw is a sentence that names the field. */
export function parseStack(value: unknown): { stack: Stack } | { flaw: string } {
  if (!Value.Check(StackSchema, value)) return { flaw: flawOf(StackSchema, value) };
  const flaw = misfitIn(value);
  return flaw === undefined ? { stack: value } : { flaw };
}

/** A misfit between parts of the stack, each of which may be right by itself. */
function misfitIn(stack: Stack): string | undefined {
  const { model, slugs, sizes } = stack;
  const apps = Object.values(model.applications);
  const tasks = Object.values(model.tasks);
  const services = Object.values(model.services);
  const keys = [model.applications, model.services, model.tasks].flatMap((group) => Object.entries(group));
  const renamed = keys.find(([key, { name }]) => key !== name);
  if (renamed) return `model has ${renamed[1].name} under the name ${renamed[0]}`;
  const unbuilt = [...apps, ...tasks].find(({ name }) => !Object.hasOwn(slugs, name));
  if (unbuilt) return `slugs.${unbuilt.name} is missing`;
  const workers = apps.flatMap((app) => Object.values(workersOf(app)));
  const mounts = [...apps, ...workers, ...tasks].flatMap((each) => Object.values(each.mounts));
  const stray = mounts.find(({ source, service }) => source === 'service' && !Object.hasOwn(model.services, service ?? ''));
  if (stray) return `model mounts ${stray.service}, which is not one of its services`;
  const sized = [
    ...services.map((each) => ({ ...each, size: sizes.services[each.name] })),
    ...apps.map((each) => ({ ...each, size: sizes.webapps[each.name] })),
    ...workers.map((each) => ({ ...each, size: sizes.workers[each.name] })),
    ...tasks.map((each) => ({ ...each, size: sizes.tasks[each.name] })),
  ];
  const odd = sized.find(
    ({ type, container_profile, size }) => size && !containerProfiles[profileOf(type, container_profile)][size.profile_size],
  );
  return odd && `sizes has ${odd.size?.profile_size} for ${odd.name}, which is not a size of its profile`;
}
