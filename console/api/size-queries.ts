/** How large the containers of an environment are, how many there are of each, and what decides that. */
import { queryOptions } from '@tanstack/react-query';
import { deedOf, hrefOf, linkOf, type Resource } from './link.ts';
import { whatWasKnown } from './observability-queries.ts';
import { request } from './request.ts';
import type { Container, Deployment, Environment } from './resources.ts';

export const sizeGroups = ['webapps', 'workers', 'services'] as const;
export type SizeGroup = (typeof sizeGroups)[number];

interface Step {
  cpu: number;
  /** MB; 0: it may have a disk; null: it cannot. */
  disk: number | null;
  profile_size: string | null;
}

export interface SizedContainer extends Omit<Container, 'resources'> {
  container_profile: string | null;
  supports_horizontal_scaling: boolean;
  resources: { profile_size: string | null; minimum: Step | null };
}

export interface NextDeployment extends Resource, Pick<Deployment, 'container_profiles'> {
  webapps: Readonly<Record<string, SizedContainer>>;
  workers: Readonly<Record<string, SizedContainer>>;
  services: Readonly<Record<string, SizedContainer>>;
}

/** The API has it where something could be deployed; there is no link to it, because its name never changes. */
export const nextDeploymentQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'deployments', 'next'],
    queryFn: ({ signal }) => request<NextDeployment>('GET', `${hrefOf(environment, 'deployments') ?? ''}/next`, undefined, signal),
    enabled: hrefOf(environment, 'deployments') !== undefined && (environment.has_code || environment.has_deployment),
  });

/** What people choose of a container; what they leave out stays. */
export interface ContainerChange {
  resources?: { profile_size: string };
  instance_count?: number;
  disk?: number;
}

export type ResourcesChange = Readonly<Partial<Record<SizeGroup, Readonly<Record<string, ContainerChange>>>>>;

export interface Amounts {
  cpu: number;
  /** MB */
  memory: number;
  /** MB */
  disk: number;
}

interface Size {
  profile_size: string;
  instance_count: number;
  disk: number | null;
}

export interface Preview {
  containers: readonly { kind: string; name: string; before: Size | null; after: Size; effect: 'start' | 'restart' | 'resize' | 'keep' }[];
  interrupts: boolean;
  is_staged: boolean;
  before: Amounts;
  after: Amounts;
  limits: readonly {
    of: 'organization' | 'project';
    name: string;
    allowed: Readonly<Record<keyof Amounts, number | null>>;
    used_by_others: Amounts;
  }[];
}

/** What a change would do. Whatever it would be refused for is refused here, in the same words. */
export function previewQuery(project: string, environment: Environment, next: NextDeployment, change: ResourcesChange) {
  const about = ['projects', project, 'environments', environment.id, 'deployments', 'next', 'preview'];
  return queryOptions({
    queryKey: [...about, change],
    queryFn: ({ signal }) => request<Preview>('POST', hrefOf(next, '#preview') ?? '', change, signal),
    enabled: hrefOf(next, '#preview') !== undefined && Object.keys(change).length > 0,
    placeholderData: whatWasKnown(about),
  });
}

export async function changeSizes(next: NextDeployment, change: ResourcesChange): Promise<unknown> {
  const link = linkOf(next, '#edit');
  if (!link) throw new Error('The sizes cannot be changed now.');
  const { href } = await deedOf(link);
  return request('PATCH', href, change);
}

export const triggers = ['cpu', 'memory', 'cpu_pressure', 'memory_pressure', 'latency'] as const;
export type TriggerName = (typeof triggers)[number];

interface Condition {
  threshold: number;
  /** Seconds. */
  duration: number;
  enabled: boolean;
}

export interface Trigger {
  enabled: boolean;
  up: Condition;
  down: Condition;
}

export interface ServiceSettings {
  enabled: boolean;
  /** Of pressure and latency only where somebody said something about them. */
  triggers: Readonly<Partial<Record<TriggerName, Trigger>>>;
  instances: { min: number; max: number };
  scale_factor: { up: number; down: number };
  scale_cooldown: { up: number; down: number };
}

export interface AutoscalingSettings {
  defaults: Pick<ServiceSettings, 'triggers' | 'instances' | 'scale_factor' | 'scale_cooldown'>;
  services: Readonly<Record<string, ServiceSettings>>;
}

export const autoscalingQuery = (project: string, environment: Environment) =>
  queryOptions({
    queryKey: ['projects', project, 'environments', environment.id, 'autoscaling'],
    queryFn: ({ signal }) => request<AutoscalingSettings>('GET', hrefOf(environment, '#autoscaling') ?? '', undefined, signal),
    enabled: hrefOf(environment, '#autoscaling') !== undefined,
  });
