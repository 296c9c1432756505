/** What other rooms do with environments: make them, move their branches, deploy them. */
export { initializeActivity, pushActivity } from './activities.ts';
export { deployBranch } from './deploy-branch.ts';
export { followSuspensions } from './follow-suspensions.ts';
export { changeDefaultBranch } from './change-default-branch.ts';
export { createDefaultEnvironment, createEnvironment } from './create-environment.ts';
export { markPullRequest, moveBelow } from './mirrored-environment.ts';
export { makeBranch } from './make-branch.ts';
export { pushCommits } from './push-commits.ts';
export { startScaling } from './start-scaling.ts';
export { startRebuild } from './start-rebuild.ts';
export { startVerbAs } from './start-verb.ts';
export { announcePush, recordPush, recordUpdate, type MirroredOptions } from './record-push.ts';
export { isBeingRemoved, startRemoval } from './start-removal.ts';
