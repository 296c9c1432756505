import { describe, expect, test } from 'vitest';
import { isBranchName, machineName } from './names.ts';
import { allowedTypes } from './types.ts';

describe('the type of an environment', () => {
  test.for([
    [{ isDefaultBranch: true, isDedicated: false, projectIsDedicated: false }, ['production']],
    [{ isDefaultBranch: false, isDedicated: false, projectIsDedicated: false }, ['development', 'staging']],
    [{ isDefaultBranch: true, isDedicated: false, projectIsDedicated: true }, ['development', 'staging']],
    [{ isDefaultBranch: false, isDedicated: false, projectIsDedicated: true }, ['development', 'staging']],
    [{ isDefaultBranch: true, isDedicated: true, projectIsDedicated: true }, ['production', 'staging']],
    [{ isDefaultBranch: false, isDedicated: true, projectIsDedicated: true }, ['production', 'staging']],
  ] as const)('%o may be %o', ([position, types]) => {
    expect(allowedTypes(position)).toEqual(types);
  });
});

describe('names', () => {
  test('of machines are readable, fit for a host name, and the same each time', () => {
    const known = {
      main: 'main-gxixfwi',
      'app/api': 'app-api-lrkjx5i',
      'maintenance-09-12-2025': 'maintenance-09-12-2025-crft5va',
    };
    for (const [branch, name] of Object.entries(known)) expect(machineName(branch, 'salt')).toBe(name);
    expect(machineName('Ünïcode_und.Punkte', 'salt')).toMatch(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/);
    expect(machineName('x'.repeat(250), 'salt').length).toBeLessThanOrEqual(49);
    expect(machineName('ÜÜ', 'salt')).toMatch(/^[a-z2-7]{7}$/);
  });

  test('of machines tell nobody what the same branch is called in another project', () => {
    const names = Array.from({ length: 1000 }, (_, project) => machineName('main', `salt of ${project}`));
    expect(new Set(names).size).toBe(1000);
    expect(names).not.toContain('main-bvxea6i');
  });

  test.for(['main', 'feature/login', 'v1.2', 'Ünïcode', 'a@b', 'UPPER_case'])('%s can be a branch', (name) => {
    expect(isBranchName(name)).toBe(true);
  });

  test.for([
    '',
    '-f',
    '--upload-pack=x',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a.',
    '@',
    'HEAD',
    'a@{b',
    'refs/heads/a',
    'a\nb',
    'a\0',
    'x'.repeat(251),
    '\ud800',
  ])('%j cannot', (name) => {
    expect(isBranchName(name)).toBe(false);
  });
});
