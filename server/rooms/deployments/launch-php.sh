# Starts PHP behind FastCGI, as `dash -c <this> launch <pre_start> <program> <port> <children> <seconds per request> [-d name=value ...]`.
exec >>/var/log/app.log 2>&1
if [ -f /app/.environment ]; then . /app/.environment; fi
if [ -n "$1" ]; then dash -c "$1" || exit; fi
cat >/run/php-fpm.conf <<END
[global]
daemonize = no
error_log = /var/log/app.log
log_level = warning
[app]
listen = 0.0.0.0:$3
pm = ondemand
pm.max_children = $4
request_terminate_timeout = $5
catch_workers_output = yes
decorate_workers_output = no
clear_env = no
END
program=$2
shift 5
exec "$program" --nodaemonize --fpm-config /run/php-fpm.conf "$@"
