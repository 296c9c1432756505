/** What other rooms may use of people: the entity, lookups, and their tokens and keys. */
export { CountryInAnyCase } from './countries.ts';
export { createApiToken } from './create-api-token.ts';
export { changeUser, insertUser, sshKeysOf, userByEmail, userById, userByUsername, usersByAge } from './queries.ts';
export { sshKeyFields } from './ssh-key.ts';
export { displayName, isEmail, isUsername, profile, UserEntity } from './user.ts';
