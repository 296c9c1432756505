/** Other limits for what runs, without starting it anew. */
import type { Container, Runtime } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';

const megabyte = 2 ** 20;

/** Memory that a container uses cannot be taken away from it. */
export async function resizeContainer(
  runtime: Runtime,
  { name, limits, files }: Pick<Container, 'name' | 'limits' | 'files'>,
  title: string,
): Promise<void> {
  try {
    await runtime.update(name, limits);
    // The files tell the container its limits.
    if (files) await runtime.updateFiles(name, files);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(
      'conflict',
      `${title} uses more memory than the ${limits.memoryBytes / megabyte} MB of its new size. Redeploy to restart it with the new size, or choose a larger one.`,
      { cause: error, internal: error.message },
    );
  }
}
