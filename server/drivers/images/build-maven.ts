/** Layers of programs for Java: files of Maven Central, each checked against the hash in the recipe. Nothing of them is run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { authorityFile } from './build-authorities.ts';
import { BuildFailure, runPlain } from './build-command.ts';
import type { Building } from './build-debian.ts';
import type { MavenJar, MavenJars } from './recipe.ts';

const central = 'https://repo.maven.apache.org/maven2';

export async function buildMavenJars({ jars, into }: MavenJars, building: Building) {
  const { folder, say, signal } = building;
  const root = join(folder, 'root');
  const target = join(root, into);
  mkdirSync(target, { recursive: true, mode: 0o755 });
  const list = join(folder, 'jars.json');
  writeFileSync(list, JSON.stringify(jars.map((jar) => ({ url: urlOf(jar), file: join(target, fileOf(jar)) }))));
  say(`Fetching ${jars.length} files of Maven Central`);
  // A process of its own, because certificate authorities are only read when Node starts.
  await runPlain([process.execPath, join(import.meta.dirname, 'fetch-files.ts'), list], folder, say, signal, authorityFile(building));
  for (const jar of jars) check(jar, readFileSync(join(target, fileOf(jar))));
  await runPlain(['chmod', '--recursive', 'u=rwX,go=rX', '--', root], root, say, signal);
}

const fileOf = ({ artifact, version }: MavenJar) => `${artifact}-${version}.jar`;

const urlOf = (jar: MavenJar) => [central, jar.group.replaceAll('.', '/'), jar.artifact, jar.version, fileOf(jar)].join('/');

function check(jar: MavenJar, bytes: Buffer) {
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== jar.sha256)
    throw new BuildFailure(`${fileOf(jar)} is not what the catalogue expects: its SHA-256 hash is ${found} instead of ${jar.sha256}.`);
}
