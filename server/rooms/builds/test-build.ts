/** What tests of builds start from: an application as a configuration would give it, and commits that hold its files. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EffectiveVariable } from '../variables/public.ts';
import type { App, ProjectModel } from './config/model.ts';
import type { BuildWork } from './build-apps.ts';

export function testApp(changes: Partial<App> = {}): App {
  return {
    name: 'app',
    type: 'nodejs:22',
    source: { root: '/', operations: {} },
    web: {
      commands: { pre_start: null, start: 'node server.js', post_start: null },
      upstream: { socket_family: 'tcp', protocol: 'http' },
      locations: {},
      move_to_root: false,
    },
    workers: {},
    crons: {},
    hooks: { build: null, deploy: null, post_deploy: null, sanitize: null },
    dependencies: {},
    build: { flavor: 'none', caches: {} },
    timezone: null,
    operations: {},
    runtime: {},
    preflight: { enabled: true, ignored_rules: [] },
    relationships: {},
    mounts: {},
    variables: {},
    additional_hosts: {},
    container_profile: null,
    access: { ssh: 'contributor' },
    firewall: null,
    size: 'AUTO',
    disk: null,
    resources: null,
    ...changes,
  };
}

export const modelOf = (...apps: App[]): ProjectModel => ({
  applications: Object.fromEntries(apps.map((app) => [app.name, app])),
  services: {},
  routes: {},
  tasks: {},
});

export const hooksOf = (build: string): App['hooks'] => ({ build, deploy: null, post_deploy: null, sanitize: null });

export const variable = (name: string, value: string, changes: Partial<EffectiveVariable> = {}): EffectiveVariable => ({
  name,
  value,
  is_json: false,
  is_sensitive: false,
  visible_build: true,
  visible_runtime: true,
  application_scope: [],
  ...changes,
});

export interface TestWork extends BuildWork {
  lines: string[];
  commands: { app: string; type: string; exit_code: number }[];
  cancel(): void;
  /** Waits for a line that has this in it. */
  said(text: string): Promise<void>;
}

const waitMilliseconds = 20;

/** An activity that keeps nothing. */
export function testWork(): TestWork {
  const controller = new AbortController();
  const lines: string[] = [];
  const commands: TestWork['commands'] = [];
  return {
    lines,
    commands,
    signal: controller.signal,
    activity: { is_urgent: false },
    wait: (others) => others,
    step: (_, work) => work(controller.signal),
    log: (text) => void lines.push(...text.split('\n')),
    command: (command) => void commands.push(command),
    cancel: () => controller.abort(new Error('cancelled')),
    said: async (text) => {
      while (!lines.some((line) => line.includes(text))) await sleep(waitMilliseconds);
    },
  };
}
