# A command in a container that runs already, which does not end with who started it, as `dash -c <this> lasting <action> <folder> …`. All about it is in
# the folder: `out` has what it says, `code` how it ended, and who can lock `lock` knows that nobody keeps the command any more. lasting-command.ts
# tells the whole story.
#
#   prepare <folder> <this>      makes the folder
#   start <folder> <command>…    unless it was started before
#   follow <folder> <position>   what it says from there on, until it has ended; then how, in the last line of the errors
#   ended <folder>               whether it has
#   stop <folder> <signal>
#   forget <folder>              ends it if it has not ended, and removes the folder
set -u
out_blocks_max=8192 # of 512 bytes
last_bytes=65536 # of what is too much
action=$1 folder=$2
shift 2

is_kept() { ! flock --nonblock "$folder/lock" true; }

# Its group, which it leads; and the whole session where nothing may be left, also of what made groups of its own.
signal() {
  pid=$(cat "$folder/command" 2>/dev/null) || return 0
  [ ! -e "$folder/code" ] || return 0
  kill -s "$1" -- "-$pid" 2>/dev/null || true
  [ "$1" = KILL ] || return 0
  for process in /proc/[0-9]*; do
    stat=$(cat "$process/stat" 2>/dev/null) || continue
    set -- ${stat##*) }
    [ "$4" != "$pid" ] || kill -KILL "${process#/proc/}" 2>/dev/null || true
  done
}

# Whatever it says, it is never kept waiting. Of what is too much the last lines are kept.
listen() {
  (ulimit -c 0 && ulimit -f $out_blocks_max && exec cat >>"$folder/out")
  tail -c $last_bytes | sed 1d >"$folder/last"
  [ ! -s "$folder/last" ] || { printf '\nW: Lines are left out here: too much was said.\n' && cat "$folder/last"; } >>"$folder/out"
  : >"$folder/heard"
}

# What the command left behind may hold on to its output for ever; nobody waits for that.
await_listener() {
  naps=0
  until [ -e "$folder/heard" ] || [ $naps -eq 100 ]; do
    sleep 0.02
    naps=$((naps + 1))
  done
}

case $action in
  prepare)
    mkdir -p -m 700 "$folder" && printf '%s' "$1" >"$folder/script" && : >>"$folder/out"
    ;;
  start)
    [ -d "$folder" ] || exit 0
    exec 9>"$folder/lock"
    flock --nonblock 9 && [ ! -e "$folder/begun" ] || exit 0
    setsid --fork dash "$folder/script" keep "$folder" "$@" </dev/null >/dev/null 2>&1
    naps=0
    until [ -e "$folder/begun" ] || [ $naps -eq 500 ]; do
      sleep 0.02
      naps=$((naps + 1))
    done
    ;;
  keep)
    [ -p "$folder/said" ] || mkfifo "$folder/said" || exit
    echo $$ >"$folder/keeper" && : >"$folder/begun" || exit
    listen <"$folder/said" 9>&- &
    setsid --wait dash "$folder/script" run "$folder" "$@" >"$folder/said" 2>&1 9>&-
    code=$?
    await_listener
    echo $code >"$folder/code.new" && mv "$folder/code.new" "$folder/code"
    ;;
  run)
    echo $$ >"$folder/command"
    unset action folder out_blocks_max last_bytes
    set +u
    if [ -f /app/.environment ]; then . /app/.environment; fi
    exec "$@"
    ;;
  follow)
    [ -d "$folder" ] || { echo lost >&2 && exit; }
    if is_kept; then
      tail -c "+$1" -s 0.2 --pid="$(cat "$folder/keeper")" --follow=descriptor "$folder/out"
    else
      tail -c "+$1" "$folder/out"
    fi
    if [ -e "$folder/code" ]; then echo "ended $(cat "$folder/code")" >&2
    elif ! is_kept; then echo lost >&2; fi
    ;;
  ended)
    [ -e "$folder/code" ]
    ;;
  stop)
    signal "$1"
    ;;
  forget)
    signal KILL
    rm -rf "$folder"
    ;;
esac
