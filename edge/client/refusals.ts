/** What a client hears whose bytes are not taken for a request. */
export type Refusal = 'malformed' | 'too-large' | 'too-slow';

const statuses: Record<Refusal, string> = {
  malformed: '400 Bad Request',
  'too-large': '431 Request Header Fields Too Large',
  'too-slow': '408 Request Timeout',
};

export const refusalStatus = (refusal: Refusal) => Number.parseInt(statuses[refusal], 10);

export const refusalReply = (refusal: Refusal) => `HTTP/1.1 ${statuses[refusal]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
