/** Apps whose image is not one of the catalogue: from a registry, or built from a Dockerfile of the repository. */
import { parseReference } from '../../../../drivers/images/oci/reference.ts';
import type { AppDockerfile, AppImage } from '../model.ts';
import { childOf, isSaid, type Node } from '../node.ts';
import { label, mapOf, object, optional, orNull, refined, type ReportAt, required, type Shape, shorthand, text } from '../shape.ts';
import { innerPath } from './values.ts';

const reference: Shape<string> = text(
  'the name of an image such as registry.example.com/team/web:1.4',
  (value) => parseReference(value) !== undefined,
);

/** A name alone, or a map where there is more to say. */
export const ownImage: Shape<AppImage> = shorthand(
  refined(reference, (name) => ({ name, signed_by: null })),
  object({
    name: required(reference),
    signed_by: orNull(text('a public key in PEM', (value) => value.includes('-----BEGIN PUBLIC KEY-----'))),
  }),
);

const buildArgument = /^[A-Za-z_]\w*$/;

export const dockerfile: Shape<AppDockerfile> = shorthand(
  refined(innerPath, (path) => ({ path, target: null, args: {} })),
  object({
    path: optional(innerPath, 'Dockerfile'),
    target: orNull(text('the name of a stage', (value) => /^[\w.-]{1,100}$/.test(value))),
    args: optional(
      mapOf(label('text'), 'a map of build arguments by name', {
        wrongKey: (name) => (buildArgument.test(name) ? undefined : 'a name of letters, digits and _'),
      }),
      {},
    ),
  }),
);

/** What an image has in it already cannot be asked for beside it. */
const instead: Readonly<Record<'image' | 'dockerfile', Readonly<Record<string, string>>>> = {
  image: {
    'hooks.build': 'nothing: the image is built already; build on it with "dockerfile", or run it in hooks.deploy',
    dependencies: 'nothing: what the app needs is in its image',
    build: 'nothing: the image is built already',
    runtime: 'nothing: the image brings its own settings',
    'source.operations': 'nothing: source operations run in images of the catalogue',
  },
  dockerfile: {
    'hooks.build': 'nothing: write it into the Dockerfile, as RUN',
    dependencies: 'nothing: write them into the Dockerfile, as RUN',
    build: 'nothing: the Dockerfile says how it is built',
    runtime: 'nothing: write the settings into the Dockerfile',
    'source.operations': 'nothing: source operations run in images of the catalogue',
  },
};

export function refuseWhatImagesHave(kind: 'image' | 'dockerfile', node: Node, { path, report }: ReportAt) {
  for (const [key, expected] of Object.entries(instead[kind])) {
    const [first = '', second] = key.split('.');
    const parent = second === undefined ? node : childOf(node, first);
    if (!isSaid(node, first) || !isSaid(parent, second ?? first)) continue;
    report.error(
      childOf(parent, second ?? first).at,
      `${path}.${key}`,
      `Found ${key} of an app with ${quotedKind[kind]}, expected ${expected}.`,
    );
  }
  const locations = childOf(childOf(node, 'web'), 'locations');
  if (!isSaid(node, 'web') || locations.kind !== 'map') return;
  for (const [location, { node: one }] of locations.entries)
    if (isSaid(one, 'root'))
      report.error(
        childOf(one, 'root').at,
        `${path}.web.locations.${location}.root`,
        `Found a folder of files of an app with ${quotedKind[kind]}, expected none: its image serves its own files.`,
      );
}
const quotedKind = { image: 'an image', dockerfile: 'a Dockerfile' };
