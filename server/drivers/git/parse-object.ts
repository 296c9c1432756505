/** Commits and trees as Git stores them. */
import type { Commit, Signature, TreeEntry } from './git.ts';

export function parseCommit(sha: string, content: Buffer): Commit {
  const end = content.indexOf('\n\n');
  const headers = content
    .subarray(0, end < 0 ? content.length : end)
    .toString('utf8')
    .split('\n');
  const valuesOf = (name: string) => headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    sha,
    tree: valuesOf('tree')[0] ?? '',
    parents: valuesOf('parent'),
    author: parseSignature(valuesOf('author')[0] ?? ''),
    committer: parseSignature(valuesOf('committer')[0] ?? ''),
    message: end < 0 ? '' : decode(content.subarray(end + 2), valuesOf('encoding')[0]),
  };
}

function parseSignature(line: string): Signature & { date: number } {
  const [, name = '', email = '', date = '0'] = /^(.*?) ?<([^>]*)>(?: (\d{1,12}))?/.exec(line) ?? [];
  return { name, email, date: Number(date) };
}

/** Old commits are in other encodings, and say so; one that nobody knows is read as UTF-8. */
function decode(message: Buffer, encoding: string | undefined): string {
  if (encoding === undefined) return message.toString('utf8');
  try {
    return new TextDecoder(encoding).decode(message);
  } catch {
    return message.toString('utf8');
  }
}

const idBytes = 20;

export function parseTree(content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const zero = content.indexOf(0, space);
    if (space < 0 || zero < 0) break;
    const mode = content.subarray(at, space).toString('latin1').padStart(6, '0');
    const end = zero + 1 + idBytes;
    entries.push({
      path: content.subarray(space + 1, zero).toString('utf8'),
      mode,
      type: typeOfMode[mode] ?? 'blob',
      sha: content.subarray(zero + 1, end).toString('hex'),
    });
    at = end;
  }
  return entries;
}

const typeOfMode: Record<string, TreeEntry['type']> = { '040000': 'tree', '160000': 'commit' };
