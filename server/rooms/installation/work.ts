/** What commands and the start of a process do to the installation. */
export { addServiceType, followServiceTypes, offerStored, removeServiceType, storedServiceTypes } from './service-types.ts';
