/** `health.pagerduty`: events of its Events API v2. All messages of an alert have the same `dedup_key`, so they are one incident there, which its end resolves. */
import { headingOf, type HealthMessage } from '../message.ts';
import { httpReceiver } from './receiver.ts';

const address = 'https://events.pagerduty.com/v2/enqueue';
const textCharactersMax = 1024;

type Event = ReturnType<typeof eventOf>;

const eventOf = (message: HealthMessage, platformUrl: string) => {
  const { event, alert, project, environment } = message;
  if (event === 'ended') return { event_action: 'resolve', dedup_key: alert.id } as const;
  return {
    event_action: 'trigger',
    dedup_key: alert.id,
    client: 'Offshoot',
    client_url: platformUrl,
    payload: {
      summary: headingOf(message),
      source: `${project.id}/${environment.id}`,
      severity: alert.severity,
      timestamp: alert.opened_at,
      ...(alert.subject !== null && { component: alert.subject }),
      group: project.id,
      class: alert.check,
      custom_details: {
        text: alert.text.slice(0, textCharactersMax),
        value: alert.value,
        project: project.title,
        environment: environment.title,
      },
    },
  } as const;
};

export const pagerduty = httpReceiver<Event>('integration.health.pagerduty', {
  contentOf: (message, { config }) => eventOf(message, config.url),
  secrets: ({ routing_key }) => [String(routing_key)],
  request: ({ routing_key }, event) => ({
    url: address,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ routing_key, ...event }),
  }),
});
