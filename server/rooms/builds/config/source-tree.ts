/** The files of a commit, as far as the configuration is concerned. */
export interface SourceTree {
  /** What is directly in a folder, in any order; nothing where there is no such folder. */
  list(folder: string): Promise<SourceEntry[]>;
  /** Undefined where there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
}

export interface SourceEntry {
  /** The path from the repository's root, without slashes around it: `.upsun/config.yaml`. The root itself is ''. */
  path: string;
  /** Other: links and submodules. */
  kind: 'file' | 'folder' | 'other';
}

/** Where a path leads from a folder, both inside the repository; undefined where it leads out of it. */
export function follow(folder: string, path: string): string | undefined {
  const parts = folder === '' ? [] : folder.split('/');
  for (const part of path.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return undefined;
    } else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}
