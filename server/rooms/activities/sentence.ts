/**
 * What an activity is, in one sentence for people: `description` with the names marked up and escaped, `text` without.
 *
 *     sentence`${person(user)} pushed to ${environment(target)}`
 */
import { escapeHtml } from '../../kernel/html.ts';

export interface Mention {
  tag: 'user' | 'environment' | 'variable' | 'strong';
  id?: string;
  name: string;
}

export const person = ({ id, display_name }: { id: string; display_name: string }): Mention => ({ tag: 'user', id, name: display_name });
export const environment = ({ id, title }: { id: string; title: string }): Mention => ({ tag: 'environment', id, name: title });
export const variable = (name: string): Mention => ({ tag: 'variable', name });
export const strong = (name: string): Mention => ({ tag: 'strong', name });

export function sentence(texts: TemplateStringsArray, ...mentions: Mention[]): { description: string; text: string } {
  const both = (mark: (mention: Mention) => string, plain: (text: string) => string) =>
    texts.reduce((all, text, n) => `${all}${plain(text)}${mentions[n] ? mark(mentions[n]) : ''}`, '');
  return {
    description: both(marked, escapeHtml),
    text: both(({ tag, name }) => (tag === 'strong' ? `**${name}**` : name), String),
  };
}

const marked = ({ tag, id, name }: Mention) =>
  `<${tag}${id === undefined ? '' : ` data-id="${escapeHtml(id)}"`}>${escapeHtml(name)}</${tag}>`;
