/** As much of Fastly's API as TLS takes, for tests: it holds requests to what is documented, and knows which key belongs to which certificate. */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  // oxlint-disable-next-line typescript/no-explicit-any -- the JSON of a request, which is checked below
  data: any;
}

interface Answer {
  status: number;
  data?: unknown;
}

const publicKeyOf = (key: Parameters<typeof createPublicKey>[0]) => createPublicKey(key).export({ type: 'spki', format: 'pem' });

export async function openTestFastly(token: string) {
  const keys = new Map<string, { name: string; publicKey: string | Buffer }>();
  const certificates = new Map<string, { name: string; pem: string }>();
  /** By host. */
  const activations = new Map<string, { id: string; certificate: string }>();
  const requests: string[] = [];
  const state = {
    keys,
    certificates,
    activations,
    requests,
    token,
    /** What happens to the next requests: refused before, or cut off after, they are carried out. */
    away: [] as ('before' | 'after' | undefined)[],
  };
  let ids = 0;

  const namesOf = (pem: string) => (new X509Certificate(pem).subjectAltName ?? '').split(', ').map((name) => name.replace(/^DNS:/, ''));
  const isInUse = (publicKey: string | Buffer) => [...certificates.values()].some(({ pem }) => publicKeyOf(pem) === publicKey);
  const listed = (all: object[]): Answer => ({ status: 200, data: all });
  const invalid: Answer = { status: 400 };

  const keep = (id: string, { attributes, type }: Asked['data']): Answer => {
    if (type !== 'tls_certificate' || typeof attributes?.cert_blob !== 'string') return invalid;
    if (![...keys.values()].some(({ publicKey }) => publicKey === publicKeyOf(attributes.cert_blob))) return { status: 422 };
    const isNew = !certificates.has(id);
    certificates.set(id, { name: attributes.name, pem: attributes.cert_blob });
    return { status: isNew ? 201 : 200, data: { id, type: 'tls_certificate', attributes: { name: attributes.name } } };
  };
  const relatedId = (relation: { data?: { type: string; id: string } } | undefined, type: string) =>
    relation?.data?.type === type ? relation.data.id : undefined;
  const switchTo = (host: string, { relationships, type }: Asked['data']): Answer => {
    const certificate = relatedId(relationships?.tls_certificate, 'tls_certificate') ?? '';
    const pem = certificates.get(certificate)?.pem;
    if (type !== 'tls_activation' || pem === undefined || !namesOf(pem).includes(host)) return invalid;
    const id = activations.get(host)?.id ?? `activation-${(ids += 1)}`;
    activations.set(host, { id, certificate });
    return { status: 201, data: { id, type: 'tls_activation' } };
  };

  const answers: Record<string, (asked: Asked, id: string) => Answer> = {
    'GET /tls/private_keys': ({ query }) =>
      listed(
        [...keys]
          .filter(([, { publicKey }]) => query.get('filter[in_use]') !== 'false' || !isInUse(publicKey))
          .map(([id, { name }]) => ({ id, type: 'tls_private_key', attributes: { name } })),
      ),
    'POST /tls/private_keys': ({ data: { type, attributes } }) => {
      if (type !== 'tls_private_key' || typeof attributes?.name !== 'string') return invalid;
      const publicKey = publicKeyOf(createPrivateKey(attributes.key));
      if ([...keys.values()].some((had) => had.publicKey === publicKey)) return { status: 409 };
      const id = `key-${(ids += 1)}`;
      keys.set(id, { name: attributes.name, publicKey });
      return { status: 201, data: { id, type: 'tls_private_key', attributes: { name: attributes.name } } };
    },
    'DELETE /tls/private_keys/': (_, id) => ({ status: isInUse(keys.get(id)?.publicKey ?? '') ? 409 : keys.delete(id) ? 204 : 404 }),
    'GET /tls/certificates': ({ query }) =>
      listed(
        [...certificates]
          .filter(([, { pem }]) => namesOf(pem).includes(query.get('filter[tls_domains.id]') ?? ''))
          .map(([id, { name }]) => ({ id, type: 'tls_certificate', attributes: { name } })),
      ),
    'POST /tls/certificates': ({ data }) => keep(`certificate-${(ids += 1)}`, data),
    'PATCH /tls/certificates/': ({ data }, id) => (certificates.has(id) && data.id === id ? keep(id, data) : { status: 404 }),
    'GET /tls/activations': ({ query }) => {
      const found = activations.get(query.get('filter[tls_domain.id]') ?? '');
      const related = found && { tls_certificate: { data: { type: 'tls_certificate', id: found.certificate } } };
      return listed(found ? [{ id: found.id, type: 'tls_activation', relationships: related }] : []);
    },
    'POST /tls/activations': ({ data }) => switchTo(relatedId(data.relationships?.tls_domain, 'tls_domain') ?? '', data),
    'PATCH /tls/activations/': ({ data }, id) => switchTo([...activations].find(([, activation]) => activation.id === id)?.[0] ?? '', data),
  };

  const server = createServer((request, reply) => {
    void request.toArray().then((chunks) => {
      const [{ method = '', headers }, text] = [request, Buffer.concat(chunks as Buffer[]).toString()];
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://fastly');
      const [path, id = ''] = /^(\/tls\/[a-z_]+\/?)(.*)$/.exec(pathname)?.slice(1) ?? [pathname];
      requests.push(`${method} ${pathname}`);
      const isFormed = headers.accept === jsonApi && (text === '' || headers['content-type'] === jsonApi);
      const answer = answers[`${method} ${path}`];
      const away = state.away.shift();
      const carryOut = (): Answer => {
        if (headers['fastly-key'] !== state.token) return { status: 401 };
        if (!isFormed || !answer) return { status: answer ? 415 : 404 };
        return answer(
          { method, path: pathname, query: searchParams, data: text === '' ? {} : JSON.parse(text).data },
          decodeURIComponent(id),
        );
      };
      const { status, data } = away === 'before' ? { status: 503, data: undefined } : carryOut();
      if (away === 'after') return void reply.destroy();
      reply
        .writeHead(status, { 'content-type': jsonApi, connection: 'close' })
        .end(status === 204 ? '' : JSON.stringify(data === undefined ? { errors: [{ status }] } : { data }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...state, state, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const jsonApi = 'application/vnd.api+json';
