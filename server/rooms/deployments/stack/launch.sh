# Starts an app or a worker inside its container, as `dash -c <this> launch <pre_start> <start>`. What it prints goes to
# its log, over restarts and redeployments. `.environment` has the last word on variables.
if [ -f /app/.environment ]; then . /app/.environment; fi
if [ -n "$1" ]; then dash -c "$1" || exit; fi
exec dash -c "$2"
