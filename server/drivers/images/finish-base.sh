#!/bin/sh
# Adds to a new Debian what every container relies on, and removes what comes from this machine. Argument: its root folder.
# Not a hook of mmdebstrap: while that runs, folders of this machine are mounted in /dev there, and removing would empty them.
set -eu
umask 022
cd "$1"
rm -rf --one-file-system dev/* run/* tmp/* etc/apt/sources.list etc/apt/apt.conf.d/99mmdebstrap var/log/* var/cache/apt var/lib/apt/lists/* var/cache/ldconfig/aux-cache var/cache/debconf/*-old var/lib/dpkg/*-old
rm -f etc/passwd- etc/group- etc/shadow- etc/gshadow- etc/resolv.conf etc/hostname etc/hosts
mkdir -p proc dev sys tmp run etc app mnt
chmod 755 proc dev sys run app mnt
chmod 1777 tmp
# The runtime puts its own in these places.
: >etc/resolv.conf
: >etc/hostname
: >etc/hosts
: >etc/machine-id
echo 'app:x:1000:1000:app:/app:/bin/bash' >>etc/passwd
echo 'app:x:1000:' >>etc/group
echo 'app:*:19000:0:99999:7:::' >>etc/shadow
echo 'app:*::' >>etc/gshadow
# No package starts a service while it is being installed.
printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
find . -xdev -type f -perm /6000 -exec chmod ug-s {} +
