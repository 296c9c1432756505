/** What other rooms may know of logs: which ones an environment has, and who may read each. */
export { logsOfEnvironment, type Log } from './log.ts';
