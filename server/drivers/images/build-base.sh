#!/bin/sh
# Builds the smallest Debian by mmdebstrap. Runs in a mount namespace of its own, in the folder of the layers. Arguments: the folder being built, the folder for
# apt of this release, then those of mmdebstrap, which is to build in /mnt/root. The package lists that it fetches are kept for builds of packages.
set -eu
umask 022
building=$1 apt=$2
shift 2

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/root /mnt/nothing
# volatile: nothing is flushed to disk here, where dpkg would flush after every package; the layer is flushed as a whole when it is complete.
mount -t overlay -o "lowerdir=/mnt/nothing,upperdir=$building/root,workdir=$building/work,volatile,redirect_dir=off,metacopy=off,index=off" overlay /mnt/root
mmdebstrap "$@"

# Manuals and the like are left out here, not by mmdebstrap, which passes every file through a filter for that and takes four times as long to extract.
layers=$PWD
cd /mnt/root
rm -rf usr/share/man/* usr/share/info/* usr/share/locale/* usr/share/lintian/*
find usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete
find usr/share/doc -mindepth 1 -type d -empty -delete
cp "$layers/$building/settings/dpkg.cfg" etc/dpkg/dpkg.cfg.d/99mmdebstrap
cd "$layers"

mkdir -p "$apt"
exec 8>"$apt/lists.lock"
flock 8
[ -e "$apt/lists" ] || {
  cp -a /mnt/root/var/lib/apt/lists "$building/lists"
  cp "$building/settings/sources.list" "$building/lists/updated"
  mv "$building/lists" "$apt/lists"
}
