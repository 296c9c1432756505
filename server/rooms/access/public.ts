/** What other rooms may use of access: whose projects somebody sees, and the access that whoever makes a project gets. */
export { grantMaker } from './grant-access.ts';
export { projectIdsOf } from './queries.ts';
