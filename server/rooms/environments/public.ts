/** What other rooms may know of environments: the entity, lookups, and names. */
export { EnvironmentEntity } from './environment.ts';
export { isBeingBackedUp, isBeingMade } from './being-backed-up.ts';
export { atHost, codeSourceOf, isOfHost, refuseMirroredRefs, type CodeSource } from './code-source.ts';
export { areMet, hasDeployment, hindrance, isNotBeingBackedUp } from './conditions.ts';
export { concernedBy } from './deploy-branch.ts';
export { isBranchName, machineName } from './names.ts';
export { environmentById, environmentByMachineName, environmentsOf, lockTree, type Environment } from './queries.ts';
export { instancesMaxOf } from './scale-instances.ts';
export { mayEnter, readSshName, sshDestinations, sshNameOf, sshPermission, type SshDestination } from './ssh-names.ts';
export { environmentSummary, type AnnouncedPush, type BranchUpdate } from './record-push.ts';
