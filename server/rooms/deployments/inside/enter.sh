# Into an app that runs, as `bash -c <this> enter [<command>]`: the variables that it was started with, then the command or a shell to type into. What
# `.environment` prints is not part of what a command answers.
if [ -f /app/.environment ]; then . /app/.environment >&2; fi
if [ $# -gt 0 ]; then exec bash -c "$1"; fi
exec bash --login
