/** What well-known images of containers are here. */

interface KnownImage {
  /** The name of a type of the catalogue. */
  name: string;
  kind: 'service' | 'runtime';
  /** Extensions of PostgreSQL that the image is known for. */
  extensions?: readonly string[];
}

const service = (name: string, extensions?: readonly string[]): KnownImage => ({
  name,
  kind: 'service',
  ...(extensions && { extensions }),
});
const runtime = (name: string): KnownImage => ({ name, kind: 'runtime' });

const knownImages: Readonly<Record<string, KnownImage>> = {
  postgres: service('postgresql'),
  postgresql: service('postgresql'),
  'postgis/postgis': service('postgresql', ['postgis']),
  'pgvector/pgvector': service('postgresql', ['vector']),
  'ankane/pgvector': service('postgresql', ['vector']),
  mariadb: service('mariadb'),
  mysql: service('mysql'),
  'mysql/mysql-server': service('mysql'),
  'percona/percona-server': service('mysql'),
  percona: service('mysql'),
  redis: service('redis'),
  'redis/redis-stack': service('redis'),
  valkey: service('valkey'),
  'valkey/valkey': service('valkey'),
  memcached: service('memcached'),
  rabbitmq: service('rabbitmq'),
  varnish: service('varnish'),
  kafka: service('kafka'),
  'apache/kafka': service('kafka'),
  'confluentinc/cp-kafka': service('kafka'),
  'browserless/chrome': service('chrome-headless'),
  'zenika/alpine-chrome': service('chrome-headless'),
  'gotenberg/gotenberg': service('gotenberg'),
  'dunglas/mercure': service('mercure'),
  mongo: service('mongodb'),
  elasticsearch: service('elasticsearch'),
  'opensearchproject/opensearch': service('opensearch'),
  solr: service('solr'),
  influxdb: service('influxdb'),
  'clickhouse/clickhouse-server': service('clickhouse'),
  vault: service('vault-kms'),
  'hashicorp/vault': service('vault-kms'),
  node: runtime('nodejs'),
  python: runtime('python'),
  'tiangolo/uvicorn-gunicorn-fastapi': runtime('python'),
  php: runtime('php'),
  ruby: runtime('ruby'),
  golang: runtime('golang'),
  rust: runtime('rust'),
  elixir: runtime('elixir'),
  openjdk: runtime('java'),
  'eclipse-temurin': runtime('java'),
  amazoncorretto: runtime('java'),
  maven: runtime('java'),
  gradle: runtime('java'),
  'oven/bun': runtime('bun'),
  'denoland/deno': runtime('deno'),
  nginx: runtime('static'),
  httpd: runtime('static'),
  caddy: runtime('static'),
};

/** What these do is the platform's own work, so nothing takes their place. */
export const unneededImages: Readonly<Record<string, string>> = {
  traefik: 'routes do this here',
  'jwilder/nginx-proxy': 'routes do this here',
  'nginxproxy/nginx-proxy': 'routes do this here',
  'nginxproxy/acme-companion': 'certificates come by themselves here',
  'certbot/certbot': 'certificates come by themselves here',
  haproxy: 'routes do this here',
  adminer: 'the command `upsun tunnel:open` lets tools of your own reach the database',
  phpmyadmin: 'the command `upsun tunnel:open` lets tools of your own reach the database',
  'dpage/pgadmin4': 'the command `upsun tunnel:open` lets tools of your own reach the database',
  'rediscommander/redis-commander': 'the command `upsun tunnel:open` lets tools of your own reach it',
  'mailhog/mailhog': 'apps send mail through the platform, which previews do only if asked',
  'axllent/mailpit': 'apps send mail through the platform, which previews do only if asked',
  'containrrr/watchtower': '`git push` deploys here',
};

export interface ImageName {
  /** Without the registry and without `library/`: `postgres`, `postgis/postgis`. */
  repository: string;
  /** The version in the tag: `16` of `16-alpine`; undefined for `latest` and the like. */
  version?: string;
  known?: KnownImage;
}

/** Images that many rebuild under their own name are known by the last part of it: `bitnami/redis`. */
const rebuilders = new Set(['bitnami', 'bitnamilegacy', 'library', 'docker.io', 'circleci', 'cimg']);

export function readImage(image: string): ImageName {
  const [withTag = ''] = image.split('@', 1);
  const slash = withTag.lastIndexOf('/');
  const colon = withTag.indexOf(':', slash + 1);
  const path = (colon < 0 ? withTag : withTag.slice(0, colon)).split('/');
  const tag = colon < 0 ? '' : withTag.slice(colon + 1);
  if (path.length > 1 && /[.:]|^localhost$/.test(path[0] ?? '')) path.shift();
  if (path.length > 1 && rebuilders.has(path[0] ?? '')) path.shift();
  const repository = path.join('/');
  const version = versionIn(repository, tag);
  const known = Object.hasOwn(knownImages, repository) ? knownImages[repository] : undefined;
  return { repository, ...(version !== undefined && { version }), ...(known && { known }) };
}

/** Some images have their own version in front and that of what is in them behind it: `pgvector/pgvector:0.8.0-pg17`, `maven:3.9-eclipse-temurin-21`. */
function versionIn(repository: string, tag: string): string | undefined {
  const inner =
    /(?:^|-)pg(\d+)/.exec(tag)?.[1] ??
    (/^(?:maven|gradle)$/.test(repository) ? /(?:temurin|jdk|corretto)-?(\d+)/.exec(tag)?.[1] : undefined);
  return inner ?? /^v?(\d+(?:\.\d+)*)/.exec(tag)?.[1];
}
