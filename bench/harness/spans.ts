/** Spans as an SDK sends them: a request and two queries below it, over and over. */
import { asProtobuf, type WrittenSpan } from '../../server/drivers/otlp/test-request.ts';

/** As SDKs send them by default. */
export const spansPerRequest = 512;

const resource = {
  'telemetry.sdk.language': 'nodejs',
  'process.runtime.name': 'nodejs',
  'process.runtime.version': '24.1.0',
  'os.type': 'linux',
};

function spanOf(nth: number): WrittenSpan {
  const trace = (1 + Math.floor(nth / 3)).toString(16).padStart(32, '0');
  const idOf = (of: number) => (of + 1).toString(16).padStart(16, '0');
  const isServer = nth % 3 === 0;
  return {
    trace,
    id: idOf(nth),
    parent: isServer ? '' : idOf(nth - (nth % 3)),
    name: isServer ? 'GET /products/:id' : 'SELECT products',
    kind: isServer ? 2 : 3,
    start: BigInt(Date.now()) * 1_000_000n,
    nanoseconds: 12_345_678,
    isError: false,
    attributes: isServer
      ? {
          'http.route': `/products/${nth % 50}/:id`,
          'http.request.method': 'GET',
          'http.response.status_code': 200,
          'url.path': '/products/17',
          'user_agent.original': 'curl/8.5.0',
          'server.address': 'shop.example.org',
        }
      : {
          'db.system.name': 'postgresql',
          'db.namespace': 'main',
          'db.query.text': 'select * from products where id = $1',
          'server.address': 'database.internal',
          'server.port': 5432,
        },
  };
}

export const writtenSpans = () => [
  {
    resource,
    libraries: [{ name: '@opentelemetry/instrumentation-http', spans: Array.from({ length: spansPerRequest }, (_, nth) => spanOf(nth)) }],
  },
];

export const protobufOfSpans = (): Buffer => asProtobuf(writtenSpans());
