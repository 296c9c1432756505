/** The templates of examples/templates, and how one sees that they work: `./offshoot test templates` tries each of them. */

export interface Template {
  /** The page with data, and words that the first deployment put there. */
  page?: string;
  seeded: string;
  /** Where its form leads, if not to its own page, and what is sent. */
  action?: string;
  fields: Record<string, string>;
  /** Words of what was sent, as the page shows them. */
  written: string;
}

export const templates: Record<string, Template> = {
  eleventy: {
    page: '/letters',
    seeded: 'My moss has crossed the wall',
    fields: { from: 'Ada', words: 'More about ferns, please' },
    written: 'More about ferns, please',
  },
  nextjs: {
    seeded: 'The Overstory',
    action: '/books',
    fields: { title: 'Entangled Life', author: 'Merlin Sheldrake' },
    written: 'Entangled Life',
  },
  django: {
    seeded: 'Salt the tomatoes first',
    fields: { name: 'Toast', minutes: '3', steps: 'Bread, and heat' },
    written: 'Bread, and heat',
  },
  fastapi: {
    seeded: '40 × Swift',
    fields: { bird: 'Wren', place: 'the wood pile', count: '2' },
    written: '2 × Wren, the wood pile',
  },
  golang: {
    seeded: 'https://en.wikipedia.org/wiki/Tree, 7 visits',
    fields: { name: 'offshoot', target: 'https://example.org/offshoot' },
    written: 'https://example.org/offshoot, 0 visits',
  },
  blog: {
    seeded: 'Somebody has cut a gate into the hedge',
    fields: { title: 'Frost', words: 'The dahlias are black' },
    written: 'The dahlias are black',
  },
  agenda: {
    seeded: 'Walk to the old orchard',
    action: '/events',
    fields: { title: 'Apple day', place: 'The press', day: '2027-10-21' },
    written: 'Apple day',
  },
  'spring-boot': {
    seeded: 'Elm for Katherine',
    fields: { room: 'Hazel', day: '2027-02-01', guest: 'Annie' },
    written: 'Hazel for Annie',
  },
  ruby: {
    seeded: 'August: 8',
    action: '/votes',
    fields: { question: 'When shall we mow the meadow?', answer: 'At night' },
    written: 'At night: 1',
  },
};
