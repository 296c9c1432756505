/** The keys of a task: a container that runs to its end when it is asked to. */
import type { Task } from '../model.ts';
import { integer, maybe, object, optional, orNull, required, type Shape, refined } from '../shape.ts';
import { rootPath } from './application.ts';
import { type Context, imageType } from './context.ts';
import { containerFields, hint, resources } from './instance.ts';
import { dependencies, phpRuntime, runtimeOf } from './runtime.ts';
import { command, script, timezone } from './values.ts';

const daySeconds = 86_400;

export const task = (context: Context, name: string): Shape<Task> =>
  refined(
    object(
      {
        type: required(imageType(context, 'app')),
        source: optional(object({ root: optional(rootPath, '/') }), { root: '/' }),
        hooks: optional(object({ build: orNull(script), deploy: orNull(script) }), { build: null, deploy: null }),
        ...containerFields(context),
        run: required(object({ command: required(command), timeout: optional(integer(1, daySeconds, 'seconds'), daySeconds) })),
        timezone: orNull(timezone),
        dependencies: optional(dependencies, {}),
        runtime: maybe(phpRuntime),
        resources: orNull(hint(context, resources)),
      },
      { ignored: { authorizations: 'this platform does not offer it' } },
    ),
    ({ runtime, ...found }, place, node) => ({
      name,
      ...found,
      runtime: runtimeOf(found.type, context, runtime, place, node),
      authorizations: [],
    }),
  );
