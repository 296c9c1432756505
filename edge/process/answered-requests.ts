/** How many requests were answered, by the class of their status. Each process that serves counts its own; the main process adds them up. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
export type StatusClass = (typeof statusClasses)[number];
export type AnsweredRequests = Record<StatusClass, number>;

export const noneAnswered = (): AnsweredRequests => ({ '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 });

export function countAnswer(answered: AnsweredRequests, status: number): void {
  const statusClass = statusClasses[Math.floor(status / 100) - 1];
  if (statusClass !== undefined) answered[statusClass]++;
}

interface Told {
  pid: number;
  answered: AnsweredRequests;
}

/**
 * Adds up what processes tell each time they are asked. What one told stays in the sum after it has ended, so that the sum never falls; what it answered since it
 * was last asked is lost with it.
 */
export function openAnsweredSum(): (told: readonly Told[]) => AnsweredRequests {
  const lastTold = new Map<number, AnsweredRequests>();
  return (told) => {
    for (const { pid, answered } of told) lastTold.set(pid, answered);
    const sum = noneAnswered();
    for (const answered of lastTold.values()) for (const statusClass of statusClasses) sum[statusClass] += answered[statusClass];
    return sum;
  };
}
