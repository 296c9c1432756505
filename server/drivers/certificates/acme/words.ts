/** What an authority says, for the owner of the name: which name, what happened, and what to change. */
import type { IssuanceCause, IssuanceFault } from '../certificates.ts';
import { type AcmeRefusal, type Identifier, type ProblemDocument, typeOf } from './messages.ts';
import type { Proof } from './proofs.ts';

export interface Words {
  /** What records of names should hold, in words for people: `an A record with 203.0.113.7`. */
  pointTo: string;
  /** The names by which CAA records allow the authority. */
  caaIdentities: readonly string[];
}

interface Situation extends Words {
  name: string;
  proof: Proof | undefined;
}

interface Meaning {
  cause: IssuanceCause;
  says: (situation: Situation) => string;
}

const portOf = (proof: Proof | undefined) => (proof?.kind === 'tls-alpn-01' ? 443 : 80);
const isDns = (proof: Proof | undefined) => proof?.kind === 'dns-01' || proof?.kind === 'dns-persist-01';
const bare = (name: string) => name.replace(/^\*\./, '');

const wrongAnswer: Meaning = {
  cause: 'wrong-answer',
  says: ({ name, proof, pointTo }) => {
    if (proof && isDns(proof) && 'record' in proof)
      return `The TXT record ${proof.record} does not say what it should (${proof.value}). See to it that all name servers of ${bare(name)} have it, and that no CNAME or older record is in its place.`;
    return `Somebody else than this platform answers at ${name}, port ${portOf(proof)}. Let DNS lead ${name} here, with ${pointTo}, and remove other A and AAAA records of it.`;
  },
};

const meanings: Readonly<Record<string, Meaning>> = {
  dns: {
    cause: 'dns',
    says: ({ name, proof, pointTo }) =>
      proof && isDns(proof) && 'record' in proof
        ? `The TXT record ${proof.record} cannot be looked up. See to it that all name servers of ${bare(name)} answer, and that DNSSEC is right if it is used.`
        : `${name} cannot be looked up in DNS. Add ${pointTo} for it, and see to it that its name servers answer.`,
  },
  connection: {
    cause: 'connection',
    says: ({ name, proof, pointTo }) =>
      `${name} cannot be reached at port ${portOf(proof)} from the internet. Let DNS lead it here, with ${pointTo}; remove other A and AAAA records of it; and open the port in firewalls.`,
  },
  tls: {
    cause: 'connection',
    says: ({ name, pointTo }) =>
      `${name} answers at port 443, but not as this platform does: something in between ends TLS. Let DNS lead it here directly, with ${pointTo}.`,
  },
  unauthorized: wrongAnswer,
  incorrectResponse: wrongAnswer,
  caa: {
    cause: 'caa',
    says: ({ name, caaIdentities }) =>
      `A CAA record of ${bare(name)}, or of a domain above it, allows other authorities only. Add: ${bare(name)}. CAA 0 ${name.startsWith('*.') ? 'issuewild' : 'issue'} "${caaIdentities[0] ?? 'the name of the authority'}"`,
  },
  rejectedIdentifier: {
    cause: 'name',
    says: ({ name }) => `The authority does not make certificates for ${name}. Use another domain, or upload a certificate for it.`,
  },
  unsupportedIdentifier: {
    cause: 'name',
    says: ({ name }) => `The authority does not make certificates for names such as ${name}. Upload one for it.`,
  },
  rateLimited: { cause: 'rate', says: ({ name }) => `The authority has been asked too often for ${name}; it will be asked again later.` },
  externalAccountRequired: {
    cause: 'account',
    says: () => 'This authority takes only customers of its own: set the key id and the key (EAB) that it gave you.',
  },
  accountDoesNotExist: { cause: 'account', says: () => 'The authority does not know the account any more.' },
  userActionRequired: {
    cause: 'account',
    says: () => 'The authority wants something of the operator first, such as agreeing to new terms.',
  },
  invalidContact: { cause: 'account', says: () => 'The authority does not accept the e-mail address of the account. Set another one.' },
  unsupportedContact: { cause: 'account', says: () => 'The authority does not accept the e-mail address of the account. Set another one.' },
  badCSR: { cause: 'other', says: () => 'The authority does not accept the kind of key, or the names, that it was asked for.' },
  invalidProfile: {
    cause: 'other',
    says: () => 'The authority does not have the profile that was asked for. Choose another one, or none.',
  },
};

const otherwise: Meaning = { cause: 'other', says: ({ name }) => `The authority refused a certificate for ${name}.` };

export function faultOf(problem: ProblemDocument, about: { name: string | undefined; proof?: Proof }, words: Words): IssuanceFault {
  const { cause, says } = meanings[typeOf(problem)] ?? otherwise;
  const detail = (problem.detail ?? '').trim();
  const sentence = says({ ...words, name: about.name ?? 'these names', proof: about.proof });
  const quoted = detail === '' ? sentence : `${sentence} The authority said: ${shorten(detail)}`;
  return { ...(about.name !== undefined && { name: about.name }), cause, sentence: quoted };
}

const detailCharactersMax = 400;
const shorten = (text: string) => (text.length > detailCharactersMax ? `${text.slice(0, detailCharactersMax)}…` : text);

const nameIn = (identifier: Identifier | undefined) => identifier?.value;

/** The faults in an answer about an order as a whole: one for each name that the answer speaks of. */
export function faultsOfRefusal(
  { problem, more, type }: AcmeRefusal,
  names: readonly string[],
  words: Words,
): [IssuanceFault, ...IssuanceFault[]] {
  const [first, ...others] = (problem.subproblems ?? []).map((each) => faultOf(each, { name: nameIn(each.identifier) }, words));
  if (first) return [first, ...others];
  const isAccount = meanings[type]?.cause === 'account' || type === 'unauthorized';
  const about = isAccount ? undefined : nameMeant(names, problem.detail ?? '');
  const fault =
    type === 'unauthorized'
      ? {
          cause: 'account' as const,
          sentence: `The authority does not let this account work; ask it why, or set another one. The authority said: ${shorten(problem.detail ?? '')}`,
        }
      : faultOf(problem, { name: about }, words);
  return [more === undefined ? fault : { ...fault, sentence: `${fault.sentence} (${more})` }];
}

/** The only name of the order; or the only one of several that the authority speaks of. */
function nameMeant(names: readonly string[], detail: string): string | undefined {
  const spokenOf = names.filter((name) => detail.split(/[^a-z0-9.*:_-]+/i).includes(name));
  const [meant, ...others] = names.length === 1 ? names : spokenOf;
  return others.length === 0 ? meant : undefined;
}
