/**
 * Text files that a container finds in folders of its own. They are kept where it cannot write, and it sees links to them: what is replaced here is
 * seen there at once. The list of its peers is one of them, but is the network's.
 */
import { lchownSync, lstatSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Description, folderOf } from './description.ts';
import { peersFile } from './networks.ts';
import { type RuntimeFolders, bundleOf, entriesOf, makeFolder, readText, writeWhole } from './runtime-folders.ts';

export const filesAt = '.offshoot/files';
/** Only the container's own root user may enter the folder around it. */
export const filesFolder = (folders: RuntimeFolders, name: string) => join(bundleOf(folders, name), 'private', 'files');

const keptAs = (path: string) => path.slice(1).replaceAll('/', '_');

/** Writes these files, and removes all others. */
export function writeFiles(folders: RuntimeFolders, { name, files = {} }: Pick<Description, 'name' | 'files'>) {
  const folder = filesFolder(folders, name);
  makeFolder(folder, 0o755);
  const wanted = new Map(Object.entries(files).map(([path, text]) => [keptAs(path), text]));
  for (const file of entriesOf(folder)) if (!wanted.has(file)) rmSync(join(folder, file));
  for (const [file, text] of wanted) if (readText(join(folder, file)) !== text) writeWhole(join(folder, file), text, 0o644);
}

/** Makes links to the files in the container's folders, before it starts: nobody but us has been there. */
export function linkFiles({ files = {}, peer, writable }: Description, folders: readonly string[]) {
  const links = Object.keys(files).map((path) => [path, `/${filesAt}/${keptAs(path)}`] as const);
  for (const [path, target] of peer ? [...links, [peer.at, peersFile(peer.group)] as const] : links) {
    const folder = folders[folderOf(writable, path) ?? -1] ?? '';
    const at = join(folder, basename(path));
    if (lstatSync(at, { throwIfNoEntry: false })) continue;
    symlinkSync(target, at);
    // In a folder like /tmp a careful machine (fs.protected_symlinks, which systemd sets) follows only links of the folder's own owner.
    const { uid, gid } = statSync(folder);
    lchownSync(at, uid, gid);
  }
}
