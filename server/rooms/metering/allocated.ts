/** What can be given to whom. */

export const allocatedKinds = ['app', 'worker', 'service', 'task', 'build', 'backups'] as const;
export type AllocatedKind = (typeof allocatedKinds)[number];

export interface Allocated {
  /** The name of the app, worker, service or task; empty where it is none of them. */
  service: string;
  kind: AllocatedKind;
  /** CPUs. */
  cpu: number;
  /** MB. */
  memory: number;
  /** MB. */
  disk: number;
}

export interface Holder {
  projectId: string;
  /** The environment's machine name; empty: the project as a whole. */
  environment: string;
  /** `deployment`, `backups`, `task <activity>` or `build <name>`: has one allocation at a time. */
  subject: string;
}
