/** A room: one area of the product, as main.ts is told of it. */
import type { FastifyInstance } from 'fastify';
import type { Platform } from '../platform.ts';
import type { ActivityDefinition } from './activity.ts';
import type { DeliveryKind } from './delivery.ts';
import type { Listener } from './listener.ts';
import type { Operation } from './operation.ts';
import type { Reconciler } from './reconciler.ts';

export interface Room {
  /** Its heading in the docs. */
  name: string;
  about: string;
  operations: Record<string, Operation>;
  /** Its durable work. */
  activities?: Record<string, ActivityDefinition<any>>;
  /** What it has sent to others. */
  deliveries?: readonly DeliveryKind[];
  /** What it keeps true. */
  reconcilers?: readonly Reconciler[];
  /** What it hears of the machine. */
  listeners?: readonly Listener[];
  /** What is not an operation of the API: pages for people, protocols with rules of their own. */
  mount?(http: FastifyInstance, platform: Platform): void | Promise<void>;
}

export type Rooms = readonly Room[];

export const operationsOf = (rooms: Rooms): Operation[] => rooms.flatMap(({ operations }) => Object.values(operations));
/** What operations are called, as the OpenAPI document has it. */
export const namesOf = (rooms: Rooms): ReadonlyMap<Operation, string> =>
  new Map(rooms.flatMap(({ operations }) => Object.entries(operations).map(([name, operation]) => [operation, name] as const)));
export const activitiesOf = (rooms: Rooms): ActivityDefinition[] => rooms.flatMap(({ activities }) => Object.values(activities ?? {}));
export const deliveryKindsOf = (rooms: Rooms): DeliveryKind[] => rooms.flatMap(({ deliveries }) => deliveries ?? []);
export const listenersOf = (rooms: Rooms): Listener[] => rooms.flatMap(({ listeners }) => listeners ?? []);
export const reconcilersOf = (rooms: Rooms): Reconciler[] => rooms.flatMap(({ reconcilers }) => reconcilers ?? []);
