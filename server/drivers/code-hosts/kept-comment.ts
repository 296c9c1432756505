/** One comment for each key, on hosts that list, create and update comments. */
import type { Comment } from './code-host.ts';
import { isFailure } from './code-host-failure.ts';

export interface Comments {
  /** The oldest first. */
  list(pullRequest: number): Promise<{ id: string; text: string }[]>;
  create(pullRequest: number, text: string): Promise<string>;
  update(pullRequest: number, id: string, text: string): Promise<void>;
  /** What the key is hidden in, so that readers of the comment do not see it. */
  hide(key: string): string;
}

/** Hidden in HTML that is not shown. */
export const inHtmlComment = (key: string) => `<!-- ${key} -->`;
/** Hidden in the definition of a link that nothing refers to, for hosts that show HTML as text. */
export const inLinkDefinition = (key: string) => `[//]: # (${key})`;

export async function keepOneComment(comments: Comments, { pullRequest, key, text, id }: Comment): Promise<string> {
  const whole = `${text.trimEnd()}\n\n${comments.hide(key)}`;
  if (id !== undefined && (await isUpdated(comments, pullRequest, id, whole))) return id;
  // Whoever copies the key from our comment can only come after it.
  const found = (await comments.list(pullRequest)).find((comment) => comment.text.includes(comments.hide(key)));
  if (!found) return comments.create(pullRequest, whole);
  if (found.text !== whole) await comments.update(pullRequest, found.id, whole);
  return found.id;
}

/** Not if somebody has removed it. */
async function isUpdated(comments: Comments, pullRequest: number, id: string, whole: string): Promise<boolean> {
  try {
    await comments.update(pullRequest, id, whole);
    return true;
  } catch (thrown) {
    if (isFailure(thrown, 'missing')) return false;
    throw thrown;
  }
}
