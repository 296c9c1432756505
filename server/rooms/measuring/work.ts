/** What others may have done: a look at what containers use, for the store of measurements. */
export { openSampler } from './sample-containers.ts';
