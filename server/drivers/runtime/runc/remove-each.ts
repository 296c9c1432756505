/**
 * Takes away stage by stage; the parts of a stage go side by side. The machine is not ours alone: what cannot be taken away now does not keep the rest,
 * and is told at the end for whoever tries again. Each part bears finding nothing.
 */
export async function removeEach(what: string, stages: readonly (readonly (() => unknown)[])[]): Promise<void> {
  const failures: Error[] = [];
  for (const parts of stages) {
    const ended = await Promise.allSettled(parts.map(async (part) => part()));
    for (const each of ended) if (each.status === 'rejected') failures.push(each.reason);
  }
  if (failures.length === 0) return;
  const reasons = failures.map(({ message }) => message).join('; ');
  throw new AggregateError(failures, `Not everything of ${what} could be removed: ${reasons}`);
}
