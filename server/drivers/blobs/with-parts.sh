#!/bin/sh
# Runs a program where every part of a backup is a folder of that name, next to each other, wherever they are on this machine: so a backup has the
# same names each time. No link in a part leads anywhere. It is started in a mount namespace of its own: what is mounted here nobody else sees, and it is gone when the program ends.
#
#   with-parts.sh ro|rw <folder to mount in> <number of parts> [<name> <folder>]… <program> [<argument>]…
set -eu
access=$1 root=$2 parts=$3
shift 3
mount -t tmpfs -o mode=0700,size=1m tmpfs "$root"
while [ "$parts" -gt 0 ]; do
  mkdir -- "$root/$1"
  mount --bind -o "$access,nosymfollow,nosuid,nodev,noexec" -- "$2" "$root/$1"
  shift 2
  parts=$((parts - 1))
done
cd -- "$root"
exec "$@"
