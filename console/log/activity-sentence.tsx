/** The sentence of an activity. It comes as marked-up text; its names become links, and whatever else it holds stays text. */
import { Link } from '@tanstack/react-router';
import type { Activity } from '../api/resources.ts';

const marked = /<(user|environment|strong|project|variable|certificate|domain)(?: data-id="([^"]*)")?>(.*?)<\/\1>/g;

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const plain = (text: string) => text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity);

export function ActivitySentence({ activity: { description, text, project, id } }: { activity: Activity }) {
  const parts: React.ReactNode[] = [];
  let at = 0;
  for (const [whole, tag, dataId = '', inner = ''] of (description ?? '').matchAll(marked)) {
    const index = (description ?? '').indexOf(whole, at);
    parts.push(plain((description ?? '').slice(at, index)));
    at = index + whole.length;
    parts.push(
      tag === 'environment' ? (
        <Link key={index} to="/projects/$project/environments/$environment" params={{ project, environment: plain(dataId) }}>
          {plain(inner)}
        </Link>
      ) : (
        plain(inner)
      ),
    );
  }
  parts.push(plain((description ?? '').slice(at)));
  return description === null ? <>{text ?? id}</> : <>{parts}</>;
}
