# A command of the user's in a container that runs already, as `dash -c <this> run <command>`, with the variables that the app was started with.
if [ -f /app/.environment ]; then . /app/.environment; fi
exec dash -c "$1"
