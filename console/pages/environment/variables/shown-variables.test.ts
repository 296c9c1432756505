import { expect, test } from 'vitest';
import type { EnvironmentVariable, Variable } from '../../../api/variable-queries.ts';
import { shownVariables } from './shown-variables.ts';

const ofProject = (name: string): Variable => ({
  id: name,
  name,
  value: 'of the project',
  is_json: false,
  is_sensitive: false,
  visible_build: false,
  visible_runtime: true,
  application_scope: [],
  updated_at: '2026-11-17T00:00:00Z',
  _links: {},
});
const ofEnvironment = (name: string, inherited_from: string | null, is_enabled = true): EnvironmentVariable => ({
  ...ofProject(name),
  inherited: inherited_from !== null,
  inherited_from,
  is_enabled,
  is_inheritable: true,
});

test('of one name the nearest variable is shown, with where it comes from and what it hides', () => {
  const shown = shownVariables(
    [ofEnvironment('env:URL', null), ofEnvironment('env:MODE', 'main'), ofEnvironment('env:OFF', null, false)],
    [ofProject('env:URL'), ofProject('env:ALL')],
  );
  expect(shown.map(({ variable, origin, from, overrides, isEnabled }) => [variable.name, origin, from, overrides, isEnabled])).toEqual([
    ['env:ALL', 'project', undefined, undefined, true],
    ['env:MODE', 'ancestor', 'main', undefined, true],
    ['env:OFF', 'own', undefined, undefined, false],
    ['env:URL', 'own', undefined, 'project', true],
  ]);
});
