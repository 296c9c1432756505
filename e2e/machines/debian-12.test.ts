import { tellStory } from './story.ts';

tellStory('Debian 12', 'bookworm');
