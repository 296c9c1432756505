/** What other rooms may use of teams. */
export { teamsById, type Team } from './queries.ts';
export { TeamEntity, teamFields } from './team.ts';
