# Starts an app or a worker inside its container, as `dash -c <this> launch <pre_start> <start>`. What it prints is kept in a file, over restarts and
# redeployments. `.environment` has the last word on variables.
exec >>/var/log/app.log 2>&1
if [ -f /app/.environment ]; then . /app/.environment; fi
if [ -n "$1" ]; then dash -c "$1" || exit; fi
exec dash -c "$2"
