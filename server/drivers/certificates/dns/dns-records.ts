/** Changes of DNS on behalf of names that are to be proven: TXT records that come and go. */
export interface DnsRecords {
  /** Whether this is where a name is changed: whether it is in one of its zones. */
  covers(name: string): boolean;
  /** One TXT record more of this name, beside those that it has; once, however often it is asked for. Throws a Problem that says what to change. */
  set(name: string, value: string, signal?: AbortSignal): Promise<void>;
  /** That one less; others of the name stay. It may be gone already. */
  unset(name: string, value: string, signal?: AbortSignal): Promise<void>;
}

export const isBelow = (name: string, zone: string) => name === zone || name.endsWith(`.${zone}`);
