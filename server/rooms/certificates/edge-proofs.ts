/**
 * Proofs that the edge shows to authorities: over HTTP, and over TLS. They are written down, so that whoever goes on after a kill, or after the edge was started
 * anew, has the edge show all of them.
 */
import { sql } from 'kysely';
import type { HttpProof, Proof, Solver, TlsProof } from '../../drivers/certificates/acme/proofs.ts';
import type { Challenges, Edge } from '../../drivers/edge/edge.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Db } from '../../kernel/sql.ts';

interface Parts {
  db: Db;
  secrets: Secrets;
  edge: Edge;
}

type EdgeProof = HttpProof | TlsProof;

const questionOf = (proof: EdgeProof) =>
  proof.kind === 'http-01' ? `${proof.kind} ${proof.host}${proof.path}` : `${proof.kind} ${proof.serverName}`;
const purposeOf = (question: string) => `edge_proofs ${question}`;

export function edgeSolvers(parts: Parts): Solver[] {
  return (['http-01', 'tls-alpn-01'] as const).map((kind) => ({
    kind,
    canServe: ({ name }) => !name.startsWith('*.'),
    serve: async (proof) => {
      await write(parts, ofEdge(proof));
      await showProofs(parts);
    },
    withdraw: async (proof) => {
      await parts.db
        .deleteFrom('edge_proofs')
        .where('question', '=', questionOf(ofEdge(proof)))
        .execute();
      await showProofs(parts);
    },
  }));
}

function ofEdge(proof: Proof): EdgeProof {
  if (proof.kind !== 'http-01' && proof.kind !== 'tls-alpn-01') throw new TypeError(`${proof.kind} is not proven by the edge`);
  return proof;
}

async function write({ db, secrets }: Parts, proof: EdgeProof): Promise<void> {
  const question = questionOf(proof);
  const sealed = secrets.seal(purposeOf(question), JSON.stringify(proof));
  await sql`insert into edge_proofs (question, sealed) values (${question}, ${sealed})
    on conflict (question) do update set sealed = excluded.sealed`.execute(db);
}

/** Tells the edge all of them. */
export async function showProofs({ db, secrets, edge }: Parts): Promise<void> {
  const rows = await db.selectFrom('edge_proofs').select(['question', 'sealed']).execute();
  const proofs = rows.map(({ question, sealed }) => JSON.parse(secrets.open(purposeOf(question), sealed)) as EdgeProof);
  const challenges: Challenges = {
    http: proofs.flatMap((proof) =>
      proof.kind === 'http-01' ? { host: proof.host, token: proof.path.slice(proof.path.lastIndexOf('/') + 1), body: proof.body } : [],
    ),
    tls: proofs.flatMap((proof) =>
      proof.kind === 'tls-alpn-01' ? { host: proof.serverName, certificate: proof.keyed.certificate, key: proof.keyed.key } : [],
    ),
  };
  await edge.challenge(challenges);
}

/** Authorities look within hours; what somebody left behind for longer is of no use. */
const keptDays = 7;

/** Answers whether there are proofs to show. */
export async function forgetOldProofs(db: Db): Promise<boolean> {
  await sql`delete from edge_proofs where created_at < now() - make_interval(days => ${keptDays})`.execute(db);
  return (await db.selectFrom('edge_proofs').select('question').limit(1).execute()).length > 0;
}
