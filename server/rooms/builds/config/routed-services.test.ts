/** Services that routes lead to, and that lead to apps themselves. */
import { expect, test } from 'vitest';
import { catalogue } from '../../../catalogue/catalogue.ts';
import { imagesOf } from './images.ts';
import { readConfiguration } from './read-configuration.ts';
import { said, treeOf } from './test-trees.ts';

const app = `applications:
  app: {type: 'nodejs:24', web: {commands: {start: node server.js}}}
  files: {type: 'static:1', web: {locations: {/: {root: web}}}}
`;
const errorsOf = async (yaml: string) => {
  const options = { images: imagesOf(catalogue), scriptsByDefault: true, cronMinutesMin: 5 };
  const { errors } = await readConfiguration(treeOf({ '.upsun/config.yaml': app + yaml }), options);
  return said(errors);
};

test.for<[what: string, yaml: string, expected: string[]]>([
  [
    'a cache that leads to an app, and a route to it',
    `services: {cache: {type: 'varnish:7.7', relationships: {app: 'app:http'}}}
routes: {'https://{default}/': {type: upstream, upstream: 'cache:http'}}`,
    [],
  ],
  [
    'a cache before a service, with rules that are no text',
    `services:
  db: {type: 'redis:8.0'}
  cache:
    type: varnish:7.7
    relationships: {shop: 'db:redis'}
    configuration: {vcl: [1]}
routes: {'https://{default}/': {type: upstream, upstream: 'app:http'}}`,
    [
      '8:27 services.cache.relationships.shop: Found "db:redis", expected an application: app:http, files:http.',
      '9:21 services.cache.configuration.vcl: Found a list, expected rules in VCL, as text or as !include of the type string, 98304 bytes at most.',
    ],
  ],
  [
    'a cache before an app that only the edge can serve',
    `services: {cache: {type: 'varnish:7.7', relationships: {app: 'files:http'}}}
routes: {'https://{default}/': {type: upstream, upstream: 'cache:http'}}`,
    [
      '4:62 services.cache.relationships.app: Nothing would answer there: the application "files" starts nothing that could answer. Let its route lead to it, without "cache" before it.',
    ],
  ],
  [
    'a route to an endpoint that the cache does not have',
    `services: {cache: {type: 'varnish:7.7', relationships: {app: 'app:http'}}}
routes: {'https://{default}/': {type: upstream, upstream: 'cache:http+stats'}}`,
    ['5:59 routes.https://{default}/.upstream: Found the endpoint "http+stats" of the service "cache", expected http.'],
  ],
])('%s: what is wrong is told, and nothing else', async ([, yaml, expected]) => {
  expect(await errorsOf(yaml)).toEqual(expected);
});
