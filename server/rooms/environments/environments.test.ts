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
  test('of machines are the ones that other installations of this kind give', () => {
    const known = {
      main: 'main-bvxea6i',
      master: 'master-7rqtwti',
      staging: 'staging-5em2ouy',
      'pr-662': 'pr-662-mendzpy',
      'app/api': 'app-api-dm4xeuy',
      'maintenance-09-12-2025': 'maintenance-09-12-2025-rl4zv2i',
    };
    for (const [branch, name] of Object.entries(known)) expect(machineName(branch)).toBe(name);
    expect(machineName('Ünïcode_und.Punkte')).toMatch(/^[a-z0-9][a-z0-9-]*[a-z0-9]$/);
    expect(machineName('x'.repeat(250)).length).toBeLessThanOrEqual(49);
    expect(machineName('ÜÜ')).toMatch(/^[a-z2-7]{7}$/);
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
