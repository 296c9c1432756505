/**
 * Puts one certificate on Fastly, so that it stands for the hosts that it is presented for here: first its key, then itself in the place of the one that it renews, then each host is
 * switched to it. What is there already is found by its name, and nothing else is kept of it here, so all of it can be done again after a kill at any moment.
 */
import { createHash } from 'node:crypto';
import { Type, type Static, type TSchema } from 'typebox';
import { FastlyFailed, type AskFastly } from './fastly.ts';

export interface PutCertificate {
  id: string;
  /** As PEM. */
  certificate: string;
  chain: readonly string[];
  key: string;
  /** The hosts that visitors are to be shown it for. */
  hosts: readonly string[];
}

const Id = Type.Object({ id: Type.String() });
const Named = Type.Object({
  id: Type.String(),
  attributes: Type.Object({ name: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
});
const Related = Type.Object({ data: Type.Union([Id, Type.Null()]) });
const Activation = Type.Object({ id: Type.String(), relationships: Type.Object({ tls_certificate: Related }) });
const one = <Schema extends TSchema>(schema: Schema) => Type.Object({ data: schema });
const several = <Schema extends TSchema>(schema: Schema) => Type.Object({ data: Type.Array(schema) });
const Anything = Type.Unknown();

/** Answers the id that Fastly has for it. Throws FastlyFailed. */
export async function putCertificate(ask: AskFastly, put: PutCertificate): Promise<string> {
  const refusal = await putKey(ask, put);
  const id = await putItself(ask, put).catch((failure: unknown) => {
    // A certificate without its key is refused; why the key was is what its owner has to know.
    throw refusal && failure instanceof FastlyFailed && failure.sent.outcome === 'refused' ? refusal : failure;
  });
  for (const host of put.hosts) await activate(ask, id, host);
  await removeFormerKeys(ask, put);
  return id;
}

const nameOf = ({ id }: PutCertificate) => `Offshoot ${id}`;
/** A renewed certificate has a new key, which must not be taken for the former one. */
const keyNameOf = (put: PutCertificate) => `${nameOf(put)} ${createHash('sha256').update(put.key).digest('hex').slice(0, 16)}`;

const sizeMax = '100';

/** A key that somebody put there before is refused, and then is good: so a refusal counts only where the certificate is refused, too. */
async function putKey(ask: AskFastly, put: PutCertificate): Promise<FastlyFailed | undefined> {
  const name = keyNameOf(put);
  if ((await keysOf(ask, put, {})).some((key) => key.attributes.name === name)) return undefined;
  const attributes = { key: put.key, name };
  try {
    await ask({ method: 'POST', path: '/tls/private_keys', data: { type: 'tls_private_key', attributes }, reply: one(Id) });
    return undefined;
  } catch (failure) {
    if (failure instanceof FastlyFailed && failure.sent.outcome === 'refused' && !isOfCredential(failure)) return failure;
    throw failure;
  }
}

const isOfCredential = ({ status }: FastlyFailed) => status === 401 || status === 403;

const pagesMax = 20;

/** Of this certificate, those that it had and the one that it has. */
async function keysOf(ask: AskFastly, put: PutCertificate, filter: Readonly<Record<string, string>>) {
  const found: Static<typeof Named>[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const query = { ...filter, 'page[number]': String(page), 'page[size]': sizeMax };
    const { data } = await ask({ method: 'GET', path: '/tls/private_keys', query, reply: several(Named) });
    found.push(...data.filter(({ attributes: { name } }) => name?.startsWith(`${nameOf(put)} `)));
    if (data.length < Number(sizeMax)) break;
  }
  return found;
}

async function putItself(ask: AskFastly, put: PutCertificate): Promise<string> {
  const [host = ''] = put.hosts;
  const query = { 'filter[tls_domains.id]': host, 'page[size]': sizeMax };
  const { data: had } = await ask({ method: 'GET', path: '/tls/certificates', query, reply: several(Named) });
  const former = had.find(({ attributes }) => attributes.name === nameOf(put));
  const attributes = { cert_blob: [put.certificate, ...put.chain].map((pem) => `${pem.trim()}\n`).join(''), name: nameOf(put) };
  const type = 'tls_certificate';
  if (!former) return (await ask({ method: 'POST', path: '/tls/certificates', data: { type, attributes }, reply: one(Id) })).data.id;
  await ask({
    method: 'PATCH',
    path: `/tls/certificates/${encodeURIComponent(former.id)}`,
    data: { type, id: former.id, attributes },
    reply: one(Id),
  });
  return former.id;
}

/** Has visitors of the host shown the certificate, whichever they were shown before. */
async function activate(ask: AskFastly, certificateId: string, host: string): Promise<void> {
  const query = { 'filter[tls_domain.id]': host, include: 'tls_certificate' };
  const { data: had } = await ask({ method: 'GET', path: '/tls/activations', query, reply: several(Activation) });
  const tls_certificate = { data: { type: 'tls_certificate', id: certificateId } };
  const type = 'tls_activation';
  if (had.length === 0) {
    const relationships = { tls_certificate, tls_domain: { data: { type: 'tls_domain', id: host } } };
    await ask({ method: 'POST', path: '/tls/activations', data: { type, relationships }, reply: one(Id) });
  }
  for (const { id } of had.filter((each) => each.relationships.tls_certificate.data?.id !== certificateId))
    await ask({
      method: 'PATCH',
      path: `/tls/activations/${encodeURIComponent(id)}`,
      data: { type, id, relationships: { tls_certificate } },
      reply: one(Id),
    });
}

/** Fastly keeps keys for ever. Those that the certificate had before are of no use to anybody but a thief; one that is in use all the same is refused, and stays. */
async function removeFormerKeys(ask: AskFastly, put: PutCertificate): Promise<void> {
  const current = keyNameOf(put);
  for (const { id, attributes } of await keysOf(ask, put, { 'filter[in_use]': 'false' })) {
    if (attributes.name === current) continue;
    await ask({ method: 'DELETE', path: `/tls/private_keys/${encodeURIComponent(id)}`, reply: Anything }).catch((failure: unknown) => {
      if (!(failure instanceof FastlyFailed && failure.sent.outcome === 'refused')) throw failure;
    });
  }
}
