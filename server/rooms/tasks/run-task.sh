# Runs a task, as the first process of its container: `dash -c <this> task <mark> <seconds> <more seconds> <deploy hook> <command>`. The hook comes before
# the command, unless it is empty, and the command comes only if the hook ended well; both together have so many seconds. Then all is told to end, and
# after some more seconds killed.
#
# Lines with the mark are for the platform. A first process heeds no signal that it has not asked for, so this one passes SIGTERM on to all others.
mark=$1 seconds=$2 more=$3
inner='
if [ -f /app/.environment ]; then . /app/.environment; fi
if [ -n "$2" ]; then
  dash -c "$2"
  set -- "$1" "$?" "$3"
  printf "%s deploy %s\n" "$1" "$2"
  [ "$2" -eq 0 ] || exit "$2"
fi
exec dash -c "$3"'
hundredths() {
  read -r since _ </proc/uptime
  echo "${since%.*}${since#*.}"
}
trap 'kill -TERM -1' TERM
begin=$(hundredths)
printf '%s begun\n' "$mark"
timeout --kill-after="$more" "$seconds" dash -c "$inner" task "$mark" "$4" "$5" &
task=$!
while wait "$task"; code=$?; kill -0 "$task" 2>/dev/null; do :; done
late=
case $code in
  # Of timeout(1) where the signal was heeded, of the last one where it was not; a command may end so by itself.
  124 | 137) [ $(($(hundredths) - begin + 1)) -lt "${seconds}00" ] || late=late ;;
esac
# What was said last may lack the end of its line.
printf '%s ended %s\n' "$mark" "$late"
printf '%s ended %s\n' "$mark" "$late" >&2
exit "$code"
