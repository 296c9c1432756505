/** The links that released clients look for by name, of what is built: one that is called otherwise is an operation that is not there. */
import { beforeAll, expect, test } from 'vitest';
import { operationsOf } from './kernel/room.ts';
import { rooms } from './rooms.ts';
import { openTestPlatform, type Person } from './testing/platform.ts';
import { fill, sampleEntity } from './testing/samples.ts';

const lookedFor: Record<string, string[]> = {
  user: ['update', 'organizations', 'teams', 'project-access', 'extended-access'],
  organization: [
    'update',
    'delete',
    'members',
    'create-member',
    'subscriptions',
    'create-subscription',
    'estimate-subscription',
    'mfa-enforcement',
    'address',
    'profile',
  ],
  'organization address': ['update'],
  'organization profile': ['update'],
  'organization member': ['update', 'delete', 'ref:users:0'],
  'organization project': ['update', 'delete', 'api', 'subscription'],
  subscription: ['edit', 'delete', 'project'],
  team: ['update', 'delete', 'members', 'project-access'],
  'team member': ['delete', 'ref:users:0'],
  'user access': ['update', 'delete', 'ref:users:0'],
  'team access': ['delete', 'ref:teams:0'],
  project: [
    '#edit',
    '#delete',
    '#access',
    '#manage-variables',
    '#manage-domains',
    'domains',
    '#clear-build-cache',
    '#activities',
    'environments',
    'capabilities',
    'integrations',
    'settings',
  ],
  'environment type': ['#access'],
  environment: [
    '#edit',
    '#delete',
    '#initialize',
    '#manage-variables',
    '#variables',
    '#domains',
    '#manage-domains',
    '#activities',
    '#tasks',
    '#source-operations',
    '#autoscaling',
    '#manage-autoscaling',
    '#observability-pipeline',
    'pf:routes',
  ],
  'environment settings': ['#edit'],
  'project settings': ['#edit'],
  activity: ['#cancel', 'log'],
  backup: ['#restore', '#delete'],
  domain: ['#edit', '#delete'],
  'environment domain': ['#edit', '#delete'],
  certificate: ['#edit', '#delete'],
  'project variable': ['#edit', '#delete'],
  'environment variable': ['#edit', '#delete'],
  integration: ['#edit', '#delete', '#validate', '#hook'],
  deployment: ['#operations'],
  'next deployment': ['#edit'],
};

/** Links that are shown only while they are possible, and so never all at once on one sample. */
const inOtherStates: Record<string, string[]> = {
  environment: [
    '#activate',
    '#branch',
    '#deactivate',
    '#merge',
    '#synchronize',
    '#backup',
    '#deploy',
    '#redeploy',
    '#pause',
    '#resume',
    '#source-operation',
  ],
};

const operations = operationsOf(rooms);
let owner: Person;

beforeAll(async () => {
  owner = await (await openTestPlatform()).person({ strong: true });
});

test.for(Object.entries(lookedFor))('%s has %o', async ([name, rels]) => {
  const entity = operations.find(({ on }) => on?.name === name)?.on;
  if (!entity) throw new Error(`There is no ${name}`);
  const { json } = await owner.send('GET', fill(entity.path, await sampleEntity(entity, owner)));
  const missing = rels.filter((rel) => !Object.hasOwn(json._links, rel));
  expect(missing).toEqual([]);
});

test.for(Object.entries(inOtherStates))('%s has %o where that is possible', ([name, rels]) => {
  expect(rels.filter((rel) => !isDeclared(name, rel))).toEqual([]);
});

const isDeclared = (name: string, rel: string) => operations.some((operation) => operation.on?.name === name && operation.rel === rel);
