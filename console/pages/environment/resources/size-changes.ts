/** What somebody chose on the page, as the API takes it, and what of a container can be chosen at all. */
import {
  type ContainerChange,
  type NextDeployment,
  type ResourcesChange,
  type SizedContainer,
  type SizeGroup,
  sizeGroups,
} from '../../../api/size-queries.ts';

export interface SizedRow {
  group: SizeGroup;
  name: string;
  container: SizedContainer;
  /** From the smallest to the largest; empty where it has no size, such as storage. */
  sizes: readonly { name: string; cpu: number; memory: number }[];
  hasDisk: boolean;
}

export function rowsOf({ container_profiles, ...containers }: NextDeployment): SizedRow[] {
  return sizeGroups.flatMap((group) =>
    Object.entries(containers[group]).map(([name, container]): SizedRow => {
      const { minimum } = container.resources;
      const steps = Object.entries(container_profiles[container.container_profile ?? ''] ?? {});
      return {
        group,
        name,
        container,
        sizes: steps
          .map(([size, { cpu, memory }]) => ({ name: size, cpu, memory }))
          .filter(({ cpu }) => cpu >= (minimum?.cpu ?? 0))
          .toSorted((one, other) => one.cpu - other.cpu),
        hasDisk: minimum !== null && minimum.disk !== null,
      };
    }),
  );
}

/** By group and name, as `webapps.shop`: what was typed, also where it is what is there already. */
export type Choices = Readonly<Record<string, { size?: string; instances?: string; disk?: string }>>;

export const keyOf = ({ group, name }: Pick<SizedRow, 'group' | 'name'>) => `${group}.${name}`;

/** Only what differs from what is there. */
export function changeOf(rows: readonly SizedRow[], choices: Choices): ResourcesChange {
  const change: Partial<Record<SizeGroup, Record<string, ContainerChange>>> = {};
  for (const row of rows) {
    const own = changeOfRow(row, choices[keyOf(row)] ?? {});
    if (Object.keys(own).length > 0) (change[row.group] ??= {})[row.name] = own;
  }
  return change;
}

function changeOfRow({ container }: SizedRow, { size, instances, disk }: Choices[string]): ContainerChange {
  const number = (text: string | undefined, now: number | null) =>
    text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) || Number(text) === now ? undefined : Number(text);
  const [count, megabytes] = [number(instances, container.instance_count), number(disk, container.disk)];
  return {
    ...(size !== undefined && size !== container.resources.profile_size && { resources: { profile_size: size } }),
    ...(count !== undefined && { instance_count: count }),
    ...(megabytes !== undefined && { disk: megabytes }),
  };
}
