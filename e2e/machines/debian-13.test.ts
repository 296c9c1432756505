import { tellStory } from './story.ts';

tellStory('Debian 13', 'trixie');
