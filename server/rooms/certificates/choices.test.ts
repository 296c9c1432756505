import { describe, expect, test } from 'vitest';
import type { AcmeSettings } from '../../config.ts';
import { chooseCertificates, type Candidate } from './choose-certificates.ts';
import { wantedCertificates, type Sources } from './wanted-certificates.ts';

const now = new Date('2026-11-16T12:00:00Z');
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000).toISOString();
const certificate = (id: string, names: string[], fields: Partial<Candidate & { renew_at: string | null }> = {}) => ({
  id,
  names,
  project_id: 'shop' as string | null,
  expires_at: inDays(60),
  issued_by: null as string | null,
  is_invalid: false,
  is_revoked: false,
  lacks_answer: false,
  renew_at: null as string | null,
  ...fields,
});
const host = (name: string, project_id = 'shop') => ({ host: name, project_id });

const acme: AcmeSettings = {
  directoryUrl: 'https://acme.test/dir',
  email: undefined,
  externalAccount: undefined,
  profile: undefined,
  dns: undefined,
};
const dns = { kind: 'command' as const, command: '/bin/dns', domains: ['example.net'] as [string], servers: undefined };
const sources = (settings: Partial<Sources['config']> = {}, directories = new Map<string, string>()): Sources => ({
  config: { domain: 'apps.example.net', url: 'https://console.example.net', host: '127.0.0.1', acme: undefined, ...settings },
  authority: 'authority 1',
  directories,
  withoutAutomatic: new Set(['manual']),
});

describe('what is presented for a host', () => {
  const chosen = (hosts: ReturnType<typeof host>[], ...some: Candidate[]) => Object.fromEntries(chooseCertificates(hosts, some, now));

  test('is a certificate of its own project that names it, exactly or by a wildcard of one label', () => {
    const one = certificate('one', ['*.example.org', 'example.org']);
    expect(chosen([host('www.example.org'), host('example.org'), host('a.b.example.org')], one)).toEqual({
      one: ['www.example.org', 'example.org'],
    });
    expect(chosen([host('www.example.org', 'other')], one)).toEqual({});
  });

  test('for a wildcard host, is one that is for all of it', () => {
    expect(
      chosen([host('*.example.org')], certificate('exact', ['www.example.org']), certificate('all', ['*.example.org', 'example.org'])),
    ).toEqual({
      all: ['*.example.org', 'example.org'],
    });
  });

  test('was given by people, unless it ends within a week, is set aside or over', () => {
    const automatic = certificate('automatic', ['www.example.org'], { issued_by: acme.directoryUrl });
    const given = (fields: Partial<Candidate>) => certificate('given', ['www.example.org'], fields);
    const choose = (fields: Partial<Candidate>) => Object.keys(chosen([host('www.example.org')], automatic, given(fields)))[0];
    expect(choose({})).toBe('given');
    expect(choose({ expires_at: inDays(6) })).toBe('automatic');
    expect(choose({ is_invalid: true })).toBe('automatic');
    expect(choose({ expires_at: inDays(-1) })).toBe('automatic');
    expect(choose({ is_revoked: true })).toBe('automatic');
    expect(choose({ lacks_answer: true })).toBe('automatic');
    expect(Object.keys(chosen([host('www.example.org')], given({ is_revoked: true })))).toEqual(['given']);
    expect(Object.keys(chosen([host('www.example.org')], given({ expires_at: inDays(6) })))).toEqual(['given']);
  });

  test('is not said of the installation’s own, which stand for all that they name', () => {
    const own = certificate('platform', ['*.apps.example.net'], { project_id: null, issued_by: 'authority 1' });
    expect(chosen([host('main-abc.apps.example.net')], own)).toEqual({});
  });
});

describe('what has to come by itself', () => {
  const wanted = (hosts: ReturnType<typeof host>[], settings: Sources, ...some: ReturnType<typeof certificate>[]) =>
    wantedCertificates(hosts, some, settings, now).map(({ names, issued_by, owner, replaces }) => [
      names.join(),
      issued_by,
      owner,
      replaces,
    ]);
  const dir = acme.directoryUrl;

  test('is nothing of a project for which that is switched off', () => {
    const names = wanted([host('www.example.org', 'manual'), host('www.example.net')], sources({ acme })).map(([each]) => each);
    expect(names).toEqual(['console.example.net', 'www.example.net']);
  });

  test('nothing for environments directly below the domain, which the installation’s own certificate is for', () => {
    expect(wanted([host('main-abc.apps.example.net')], sources())).toEqual([]);
  });

  test('deeper ones, and domains, one for each', () => {
    expect(wanted([host('www.main-abc.apps.example.net'), host('www.example.org')], sources())).toEqual([
      ['www.main-abc.apps.example.net', 'authority 1', '', undefined],
      ['www.example.org', 'authority 1', '', undefined],
    ]);
  });

  test('from a public authority: each host, or one wildcard where DNS can be changed', () => {
    const hosts = [host('main-abc.apps.example.net'), host('other-def.apps.example.net')];
    expect(wanted(hosts, sources({ acme }))).toEqual([
      ['console.example.net', dir, '', undefined],
      ['main-abc.apps.example.net', dir, '', undefined],
      ['other-def.apps.example.net', dir, '', undefined],
    ]);
    expect(wanted(hosts, sources({ acme: { ...acme, dns } }))).toEqual([
      ['apps.example.net,*.apps.example.net', dir, '', undefined],
      ['console.example.net', dir, '', undefined],
    ]);
  });

  test('nothing from a public authority for names that only this machine knows', () => {
    expect(wanted([], sources({ acme: { ...acme, dns }, domain: 'offshoot.localhost', url: 'https://localhost:8443' }))).toEqual([]);
  });

  test('from the authority that the project chose, but for names below the installation’s domain', () => {
    const chosen = sources({ acme }, new Map([['shop', 'https://own.test/dir']]));
    expect(wanted([host('www.example.org'), host('main-abc.apps.example.net'), host('other.example', 'other')], chosen).slice(1)).toEqual([
      ['www.example.org', 'https://own.test/dir', 'shop', undefined],
      ['main-abc.apps.example.net', dir, '', undefined],
      ['other.example', dir, '', undefined],
    ]);
  });

  test('nothing where people gave one that is good for more than a week, of the same project', () => {
    const given = (fields: object) => certificate('given', ['www.example.org'], fields);
    expect(wanted([host('www.example.org')], sources(), given({}))).toEqual([]);
    expect(wanted([host('www.example.org')], sources(), given({ expires_at: inDays(6) }))).toHaveLength(1);
    expect(wanted([host('www.example.org')], sources(), given({ is_invalid: true }))).toHaveLength(1);
    expect(wanted([host('www.example.org')], sources(), given({ project_id: 'other' }))).toHaveLength(1);
  });

  test('anew when the time has come, or when the authority is another', () => {
    const had = (fields: object) => certificate('had', ['www.example.org'], { issued_by: 'authority 1', renew_at: inDays(1), ...fields });
    expect(wanted([host('www.example.org')], sources(), had({}))).toEqual([]);
    expect(wanted([host('www.example.org')], sources(), had({ renew_at: inDays(-1) }))).toEqual([
      ['www.example.org', 'authority 1', '', 'had'],
    ]);
    expect(wanted([host('www.example.org')], sources({ acme }), had({})).slice(1)).toEqual([['www.example.org', dir, '', 'had']]);
  });
});
