/** What other rooms do with environments: make them, move their branches, deploy them. */
export { initializeActivity, pushActivity } from './activities.ts';
export { deployBranch } from './deploy-branch.ts';
export { changeDefaultBranch } from './change-default-branch.ts';
export { createDefaultEnvironment, createEnvironment } from './create-environment.ts';
export { makeBranch } from './make-branch.ts';
export { pushCommits } from './push-commits.ts';
export { startRebuild } from './start-rebuild.ts';
export { startVerbAs } from './start-verb.ts';
export { announcePush, recordPush } from './record-push.ts';
