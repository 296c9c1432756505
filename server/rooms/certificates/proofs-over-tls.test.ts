import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testZone } from '../../drivers/certificates/test-knot.ts';
import { canBringPrograms, whyNoPrograms } from '../../drivers/certificates/test-programs.ts';
import type { Challenges } from '../../drivers/edge/edge.ts';
import { sampleProject } from '../../testing/samples.ts';
import { keepCertificates, obtainCertificates, tellCertificates } from './reconcilers.ts';
import { shownFor } from './test-client.ts';
import { openPublicAuthority, type PublicAuthority } from './test-public-authority.ts';

let authority: PublicAuthority | undefined;
beforeAll(async () => {
  if (canBringPrograms) authority = await openPublicAuthority({ http: 'shut' });
});
afterAll(() => authority?.close());

const { signal } = new AbortController();

describe.runIf(canBringPrograms)(`where port 80 cannot be reached${whyNoPrograms}`, () => {
  test('a host is proven over TLS at the edge, and visitors of it see nothing of that', async () => {
    const { home, running, securePort, root } = authority as PublicAuthority;
    const { db } = home.platform;
    const host = `www.walled.${testZone}`;
    const { projectId } = await sampleProject(await home.person());
    await sql`insert into hosts (host, project_id, environment_id) values (${host}, ${projectId}, 'main')`.execute(db);
    const shown: Challenges[] = [];
    const { challenge } = running.edge;
    running.edge.challenge = (challenges) => {
      shown.push(challenges);
      return challenge(challenges);
    };
    await expect
      .poll(
        async () => {
          for (const reconciler of [keepCertificates, obtainCertificates, keepCertificates, tellCertificates])
            await reconciler.run(home.platform, signal);
          return shownFor(securePort, host, [root]);
        },
        { timeout: 60_000 },
      )
      .toMatchObject({ isTrusted: true });
    const hosts = (kind: 'http' | 'tls') => new Set(shown.flatMap((each) => each[kind].map(({ host: name }) => name)));
    expect([hosts('http'), hosts('tls')]).toEqual([new Set([host]), new Set([host])]);
    expect(await db.selectFrom('edge_proofs').select('question').execute()).toEqual([]);
    expect(await db.selectFrom('issuances').select('trouble').where('project_id', '=', projectId).execute()).toEqual([]);
  });
});
