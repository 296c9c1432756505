/** What other rooms and commands may do with backups and their stores. */
export { noteVerdict, verdictOn } from './damage.ts';
export { adoptBackups, insertFound, startRecovery, type Adopted } from './recover-environments.ts';
export { broughtBackLine, repairedLine, repairStore } from './repair-store.ts';
