/** What is known of one request when it has ended. It is handed over once, at the end, as JSON will have it; whoever takes it must not wait. */
export interface RequestRecord {
  /** When its head had arrived, in milliseconds since 1970. */
  at: number;
  request_id: string;
  /** Null: no environment has that host. */
  cluster: string | null;
  /** `original_url` of the route. */
  route: string | null;
  /** Id of the instance that it was sent to last. */
  instance: string | null;
  method: string;
  scheme: 'http' | 'https';
  host: string;
  /** As it came, without the query. */
  path: string;
  query: string;
  /** What the client was told; 499 when it left before that, 101 for a connection that was taken over. */
  status: number;
  /** Bytes of the body, as it came. */
  bytes_in: number;
  /** Bytes of head and body, as given to the socket. */
  bytes_out: number;
  /** How long the request waited while the environment was held or asleep. */
  held_ms: number;
  /** How long a new connection to the instance took; 0 where one was at hand, null where none was needed. */
  connect_ms: number | null;
  /** From the head of the request to that of the reply; null where an instance gave none. */
  first_byte_ms: number | null;
  total_ms: number;
  address: string;
  user_agent: string;
  referer: string;
  cache: 'HIT' | 'MISS' | 'BYPASS' | null;
  /** The client left, or the instance broke off, before the reply was whole. */
  aborted: boolean;
  /** Why the edge answered in place of the instance, for whoever looks into it. */
  note: string | null;
}
