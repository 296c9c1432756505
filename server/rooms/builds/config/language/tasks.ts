/** The keys of a task: a container that runs to its end when it is asked to. */
import type { Task } from '../model.ts';
import { choice, integer, list, maybe, object, optional, orNull, refined, required, type Shape, text } from '../shape.ts';
import { build, buildOf, rootPath } from './application.ts';
import { type Context, imageType } from './context.ts';
import { containerFields, resources } from './instance.ts';
import { dependencies, phpRuntime, runtimeOf } from './runtime.ts';
import { command, script, timezone } from './values.ts';

const daySeconds = 86_400;
const actionCharactersMax = 100;

const authorization = object({
  type: required(choice('env', 'task')),
  action: required(text('what it may do', (value) => value !== '' && value.length <= actionCharactersMax)),
  resource: orNull(text('the name of what it may do that to', (value) => value.length <= actionCharactersMax)),
});

export const task = (context: Context, name: string): Shape<Task> =>
  refined(
    object({
      type: required(imageType(context, 'app')),
      source: optional(object({ root: optional(rootPath, '/') }), { root: '/' }),
      hooks: optional(object({ build: orNull(script), deploy: orNull(script) }), { build: null, deploy: null }),
      ...containerFields(context),
      run: required(object({ command: required(command), timeout: optional(integer(1, daySeconds, 'seconds'), daySeconds) })),
      timezone: orNull(timezone),
      dependencies: optional(dependencies, {}),
      runtime: maybe(phpRuntime),
      build: optional(build, { flavor: null, caches: {} }),
      resources: orNull(resources),
      authorizations: optional(list(authorization), []),
    }),
    ({ runtime, build: ownBuild, ...found }, reportAt, node) => ({
      name,
      ...found,
      build: buildOf(found.type, context, ownBuild, reportAt, node),
      runtime: runtimeOf(found.type, context, runtime, reportAt, node),
    }),
  );
