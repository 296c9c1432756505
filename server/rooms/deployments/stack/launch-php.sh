# Starts PHP behind FastCGI, as `dash -c <this> launch <pre_start> <program> <where it listens> <children> <seconds per request>`.
# All children are there from the start (an idle one takes less than 1 MB): `ondemand` starts one for many that come at once, and the others wait for it.
if [ -f /app/.environment ]; then . /app/.environment; fi
if [ -n "$1" ]; then dash -c "$1" || exit; fi
cat >/run/php-fpm.conf <<END
[global]
daemonize = no
error_log = /dev/null
log_level = warning
[app]
listen = $3
pm = static
pm.max_children = $4
request_terminate_timeout = $5
catch_workers_output = yes
decorate_workers_output = no
clear_env = no
END
exec "$2" --nodaemonize --force-stderr --fpm-config /run/php-fpm.conf
