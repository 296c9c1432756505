#!/bin/sh
# Has an image trust certificates of the machine, in all the forms that Debian's programs read; what changes is the new layer. Runs in a mount namespace of
# its own, in the folder of the layers. Arguments: the folder being built, the lower folders as overlayfs wants them.
set -eu
umask 022
building=$1 lower=$2

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/root
mount -t overlay -o "lowerdir=$lower,upperdir=$building/root,workdir=$building/work,volatile,redirect_dir=off,metacopy=off,index=off" overlay /mnt/root
mkdir -p /mnt/root/usr/local/share/ca-certificates
cp "$building"/certificates/*.crt /mnt/root/usr/local/share/ca-certificates/
mount -t proc proc /mnt/root/proc
mount --rbind /dev /mnt/root/dev
# Java keeps a store of its own, which this brings up to date where there is a Java.
LC_ALL=C.UTF-8 chroot /mnt/root /usr/sbin/update-ca-certificates
rm -rf /mnt/root/tmp/* /mnt/root/var/log/* /mnt/root/var/lib/dpkg/*-old
