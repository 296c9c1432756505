#!/bin/sh
# Inside of containers, before Debian's df, which answers where the machine has told nothing or there is no perl.
if [ -s /.offshoot/names/disks ] && [ -x /usr/bin/perl ]; then exec /usr/bin/perl /.offshoot/df.pl "$@"; fi
for program in /usr/bin/df /bin/df; do
  if [ -x "$program" ]; then exec "$program" "$@"; fi
done
echo 'df: not found' >&2
exit 127
