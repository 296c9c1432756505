#!/bin/sh
# Tells which versions of packages a release of Debian has now: brings its lists, which all builds share, and asks apt about those of each layer. Runs in a mount
# namespace of its own, in the folder of the layers. Arguments: a scratch folder beside them, the folder for apt of the release, the architecture. In the scratch folder
# are the mirror and settings for apt, and for each layer `<hash>.status`, what it has as dpkg would write it; what apt says goes into `<hash>.policy`.
set -eu
umask 022
scratch=$1 apt=$2 architecture=$3

mkdir -p "$apt"
exec 8>"$apt/lists.lock"
flock 8
mkdir -p "$apt/lists/partial"

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir -p /mnt/root/var/cache/apt /mnt/lists /mnt/scratch
mount --bind "$apt/lists" /mnt/lists
mount --bind "$scratch" /mnt/scratch

cat >/mnt/apt.conf <<EOF
Dir "/mnt/root";
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::SourceList "/mnt/scratch/settings/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "/mnt/lists";
Dir::State::Status "/dev/null";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Bin::dpkg "/usr/bin/dpkg";
Dir::Bin::Methods "/usr/lib/apt/methods";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
EOF
cat /mnt/scratch/settings/apt.conf >>/mnt/apt.conf
export APT_CONFIG=/mnt/apt.conf LC_ALL=C.UTF-8

apt-get update
cp /mnt/scratch/settings/sources.list "$apt/lists/updated"
for status in /mnt/scratch/*.status; do
  sed -n 's/^Package: //p' "$status" | xargs apt-cache -o "Dir::State::Status=$status" policy >"${status%.status}.policy"
done
