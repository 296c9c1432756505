/** What a process of the platform does: everything, or with `--only` a part of it beside others that share the database and the data folder. */
export const allRoles = ['api', 'runner'] as const;
export type Role = (typeof allRoles)[number];

/** Throws a sentence for the operator. */
export function readRoles(args: readonly string[]): ReadonlySet<Role> {
  if (args.length === 0) return new Set(allRoles);
  const [flag, list = '', ...rest] = args.flatMap((word) => word.split('=', 2));
  const named = list.split(',').filter(Boolean);
  const roles = named.flatMap((name) => allRoles.filter((role) => role === name));
  if (flag !== '--only' || rest.length > 0 || roles.length === 0 || roles.length < named.length)
    throw new Error(`Start the platform without arguments, or with --only and one of ${allRoles.join(', ')}.`);
  return new Set(roles);
}
