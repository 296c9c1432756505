/** Changes of DNS on behalf of names that are to be proven: TXT records that come and go. */
export interface DnsRecords {
  /** Whether records of this name are changed here, because the name is in one of the zones. */
  covers(name: string): boolean;
  /** Adds one TXT record to those that the name has; calling it again changes nothing. Throws a Problem that says what to change. */
  set(name: string, value: string, signal?: AbortSignal): Promise<void>;
  /** Removes that one record, which may be gone already; others of the name stay. */
  unset(name: string, value: string, signal?: AbortSignal): Promise<void>;
}

export const isBelow = (name: string, zone: string) => name === zone || name.endsWith(`.${zone}`);
