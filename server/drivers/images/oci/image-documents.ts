/** What registries say of images, read with suspicion: the index of platforms, the manifest of one image, and its configuration. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { Problem } from '../../../kernel/problem.ts';
import { flawOf } from '../../../kernel/stored-json.ts';
import type { OciConfig } from './oci-image.ts';

const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
const Bytes = Type.Integer({ minimum: 0 });

const Index = Type.Object({
  manifests: Type.Array(
    Type.Object({
      digest: Type.String(),
      platform: Type.Optional(Type.Object({ architecture: Type.String(), os: Type.String(), variant: Type.Optional(Type.String()) })),
    }),
  ),
});

const Annotations = Type.Optional(Type.Record(Type.String(), Type.String()));
const Manifest = Type.Object({
  config: Type.Object({ digest: Digest, size: Bytes }),
  layers: Type.Array(Type.Object({ mediaType: Type.String(), digest: Digest, size: Bytes, annotations: Annotations })),
});
export type Manifest = Static<typeof Manifest>;

const Words = Type.Union([Type.Array(Type.String()), Type.Null()]);
const Keys = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]);
const Config = Type.Object({
  architecture: Type.String(),
  os: Type.String(),
  rootfs: Type.Object({ diff_ids: Type.Array(Digest) }),
  config: Type.Optional(
    Type.Object({
      Entrypoint: Type.Optional(Words),
      Cmd: Type.Optional(Words),
      Env: Type.Optional(Words),
      WorkingDir: Type.Optional(Type.String()),
      User: Type.Optional(Type.String()),
      ExposedPorts: Type.Optional(Keys),
      Volumes: Type.Optional(Keys),
    }),
  ),
});

export const platformName = () => `linux/${architectures[process.arch] ?? process.arch}`;
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

function read(body: Buffer, what: string): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new Problem('invalid-request', `${what} cannot be read: it is no JSON.`);
  }
}

/** The digest of the manifest for this machine, where the body lists several platforms; undefined where it is itself the manifest. */
export function manifestForThisMachine(body: Buffer, name: string): string | undefined {
  const index = read(body, name);
  if (!Value.Check(Index, index)) return undefined;
  const offered = index.manifests.filter(({ platform }) => platform?.os === 'linux');
  const nameOf = ({ platform }: (typeof offered)[number]) => `${platform?.os}/${platform?.architecture}`;
  const found = offered.find((one) => nameOf(one) === platformName() && Value.Check(Digest, one.digest));
  if (found) return found.digest;
  const others = [...new Set(offered.map(nameOf))].join(', ');
  throw new Problem(
    'invalid-request',
    `${name} is not made for ${platformName()}, which this machine is${others === '' ? '' : `, but for ${others}`}; build it for ${platformName()} too.`,
  );
}

export function manifestIn(body: Buffer, name: string): Manifest {
  const manifest = read(body, name);
  if (Value.Check(Manifest, manifest)) return manifest;
  throw new Problem('invalid-request', `${name} is not an image that can be run here: ${flawOf(Manifest, manifest)}.`);
}

/** The layers of the image by the digests of their contents, the lowest first, and how it wants to be run. */
export function configIn(body: Buffer, name: string): { diffIds: string[]; config: OciConfig } {
  if (body.length > configBytesMax)
    throw new Problem('too-large', `${name} says more of itself than ${configBytesMax} bytes; shorten its variables and commands.`);
  const said = read(body, name);
  if (!Value.Check(Config, said))
    throw new Problem('invalid-request', `${name} is not an image that can be run here: ${flawOf(Config, said)}.`);
  const platform = `${said.os}/${said.architecture}`;
  if (platform !== platformName())
    throw new Problem('invalid-request', `${name} is made for ${platform}, and this machine is ${platformName()}; build it for that too.`);
  const { Entrypoint, Cmd, Env, WorkingDir, User, ExposedPorts, Volumes } = said.config ?? {};
  const ports = Object.keys(ExposedPorts ?? {}).flatMap((key) => {
    const [, port, protocol = 'tcp'] = /^(\d+)(?:\/(\w+))?$/.exec(key) ?? [];
    return port === undefined || protocol !== 'tcp' ? [] : [Number(port)];
  });
  return {
    diffIds: said.rootfs.diff_ids,
    config: {
      entrypoint: Entrypoint ?? [],
      cmd: Cmd ?? [],
      env: Object.fromEntries((Env ?? []).map(assignment).filter(([variable]) => variable !== '')),
      workingFolder: WorkingDir?.startsWith('/') ? WorkingDir : '/',
      user: User ?? '',
      ports: ports.filter((port) => port > 0 && port <= portMax).toSorted((a, b) => a - b),
      volumes: Object.keys(Volumes ?? {}),
    },
  };
}
const portMax = 65_535;
const configBytesMax = 512 * 1024;

const assignment = (text: string): [string, string] => {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};
