/** For how long a reply may be kept by whoever gets it; nothing is said for less than nothing. */
export const expiryHeaders = (seconds: number): [string, string][] =>
  seconds < 0
    ? []
    : [
        ['Cache-Control', `max-age=${seconds}`],
        ['Expires', new Date(Date.now() + seconds * 1000).toUTCString()],
      ];
