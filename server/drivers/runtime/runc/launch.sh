#!/bin/sh
# Starts a prepared container under a monitor (conmon), which keeps its output and its exit code, and calls this again when it has ended: that
# is how a container is started again, also while the platform is down. Not so without the right word in `token`: the platform writes it once
# the container is ready, and takes it away before it stops the container.
#
#   launch.sh first <bundle> <token> <restart>
#   launch.sh again <bundle> <token> <restart>
set -eu
streak_seconds=60 # who ran for so long has not failed again, but anew
delay_max=60
log_bytes_max=8388608

step=$1 bundle=$2 token=$3 restart=$4
cd -- "$bundle"
name=${bundle##*/}
runc_root=../../runc
runc=/usr/sbin/runc # where Debian has it; looking it up takes a process
[ -x $runc ] || runc=$(command -v runc)

wanted() { [ "$(cat token 2>/dev/null)" = "$token" ]; }

# The first time at once, then after 1, 2, 4… seconds.
wait_for_turn() {
  [ "$restart" = always ] || [ "$(cat "durable/exit/$name" 2>/dev/null)" != 0 ] || exit 0
  wanted || exit 0
  count=0 streak=0 last=0
  [ ! -e durable/restarts ] || read -r count streak last <durable/restarts
  now=$(date +%s)
  [ $((now - last)) -lt $streak_seconds ] || streak=0
  delay=0
  [ "$streak" -eq 0 ] || delay=$((1 << (streak > 6 ? 6 : streak - 1)))
  [ "$delay" -le $delay_max ] || delay=$delay_max
  echo "$((count + 1)) $((streak + 1)) $((now + delay))" >durable/restarts.new
  naps=$((delay * 4)) # short ones, as a signal is heeded between them; conmon hands down a mask with which `wait` would hear of nothing
  while [ "$naps" -gt 0 ]; do
    sleep 0.25
    wanted || exit 0
    naps=$((naps - 1))
  done
}

keep_last_end() {
  [ ! -e "durable/exit/$name" ] || mv -f "durable/exit/$name" durable/previous-exit
  rm -f durable/previous-out-of-memory
  ! grep -qs '^oom_kill [1-9]' memory-events || : >durable/previous-out-of-memory
}

# runc lives for milliseconds: collecting its garbage is not worth the time.
monitored_create() {
  if [ "$restart" = never ]; then set --; else
    set -- --exit-command /bin/sh
    for word in "$PWD/../../launch.sh" again "$bundle" "$token" "$restart"; do set -- "$@" --exit-command-arg "$word"; done
  fi
  GOGC=off _OCI_SYNCPIPE=5 conmon --api-version 1 --cid "$name" --cuuid "$name" --name "$name" --runtime "$runc" \
    --runtime-arg --root --runtime-arg "$bundle/$runc_root" --bundle "$bundle" --container-pidfile pid --conmon-pidfile monitor-pid \
    --log-path "k8s-file:$bundle/durable/log" --log-size-max $log_bytes_max --no-sync-log --no-new-keyring --full-attach \
    --exit-dir "$bundle/durable/exit" "$@" 5>&1 >/dev/null 2>&1 </dev/null 3>&- 9>&- | { IFS= read -r reply || true; printf '%s' "$reply"; }
}

# Made beside; usually long there.
await_links() {
  naps=0 word=
  until [ -e links ]; do
    [ $naps -lt 1000 ] || break
    sleep 0.01
    naps=$((naps + 1))
  done
  read -r word <links || true
  [ "$word" = done ] || { echo 'the network could not be set up' >&2; exit 1; }
}

if [ "$step" = again ]; then
  # Once it is our turn we go through with it: what is half started could not be told from what is whole.
  trap 'exit 0' TERM
  echo $$ >restarter
  wait_for_turn
  trap '' TERM
fi
if [ "$step" = again ]; then
  # The first time nobody else can be at it.
  exec 9>lock
  flock 9
  wanted || exit 0
  # Somebody has unmounted all that they could: the platform makes it anew.
  mountpoint -q private/root && mountpoint -q users || exit 0
  keep_last_end
  mv -f durable/restarts.new durable/restarts
  runc --root $runc_root delete --force -- "$name" 9>&-
  # Nobody listens there any more, and whoever finds it there may not listen anew.
  [ ! -e socket ] || rm -f -- "$(cat socket)" || true
fi
reply=$(monitored_create)
case $reply in
  *'"data": -'* | *'"data":-'* | '') printf '%s\n' "$reply" >&2; exit 1 ;;
esac
await_links
# What `runc start` does: it reads from the pipe that the container's first process waits at. A process less at each start.
waits_at=$runc_root/$name/exec.fifo
if [ -p "$waits_at" ]; then
  read -r _ <"$waits_at" || true
  rm -f "$waits_at"
else
  runc --root $runc_root start -- "$name" 3>&- 9>&-
fi
