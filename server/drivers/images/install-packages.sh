#!/bin/sh
# Installs Debian packages on top of layers; what changes is the new layer. Runs in a mount namespace of its own, in the folder of the layers.
# Arguments: the folder being built, the folder for apt of this release, the lower folders as overlayfs wants them, the Debian architecture, packages. The mirror
# and settings for apt and dpkg are files in the folder being built; lists and downloads are kept for all builds of the release, which take turns with them.
set -eu
umask 022
building=$1 apt=$2 lower=$3 architecture=$4
shift 4

# Lists stay as they are while anybody uses them; downloads are made by one at a time.
mkdir -p "$apt"
exec 8>"$apt/lists.lock" 9>"$apt/archives.lock"
flock --shared 8
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parsed"

# Places whose names need no quoting. What the tmpfs hides is still reached by relative names.
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/root /mnt/lists /mnt/parsed /mnt/settings
mount --bind "$apt/lists" /mnt/lists
mount --bind "$apt/parsed" /mnt/parsed
mount --bind "$building/settings" /mnt/settings
# volatile: nothing is flushed to disk here, where dpkg would flush every file; the layer is flushed as a whole when it is complete.
mount -t overlay -o "lowerdir=$lower,upperdir=$building/root,workdir=$building/work,volatile,redirect_dir=off,metacopy=off,index=off" overlay /mnt/root
mkdir -p /mnt/root/var/cache/apt/archives /mnt/quick
cp "$(dirname "$0")"/quick-programs/* /mnt/quick
mount --bind /mnt/quick /mnt/root/mnt
mount --bind "$apt/archives" /mnt/root/var/cache/apt/archives

cat >/mnt/apt.conf <<EOF
Dir "/mnt/root";
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::SourceList "/mnt/settings/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "/mnt/lists";
Dir::State::Status "/mnt/root/var/lib/dpkg/status";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "/mnt/parsed/lists.bin";
Dir::Bin::dpkg "/usr/bin/dpkg";
Dir::Bin::Methods "/usr/lib/apt/methods";
Dir::Bin::Solvers { "/usr/lib/apt/solvers"; };
Dir::Bin::Planners { "/usr/lib/apt/planners"; };
DPkg::Chroot-Directory "/mnt/root";
DPkg::Use-Pty "false";
DPkg::Path "/mnt:/usr/sbin:/usr/bin:/sbin:/bin";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Status-Fd "3";
Acquire::Languages "none";
Acquire::Retries "3";
EOF
cat /mnt/settings/apt.conf >>/mnt/apt.conf
# What apt has read of the lists is kept for the next build, and taken for outdated where the sources are newer than it.
touch -d @0 /mnt/settings/sources.list
# Progress beside what is said: apt takes the descriptor it reports on away from what it runs.
exec 3>&1
export APT_CONFIG=/mnt/apt.conf DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true LC_ALL=C.UTF-8

# Lists of the last hour will do, if they are of the same mirrors.
fresh() { [ -n "$(find "$apt/lists" -maxdepth 1 -name updated -mmin -60)" ] && cmp -s "$apt/lists/updated" /mnt/settings/sources.list; }
if ! fresh; then
  flock 8
  fresh || { apt-get update && cp /mnt/settings/sources.list "$apt/lists/updated"; }
  flock --shared 8
fi
flock 9
# What came is kept, so that a further attempt, after a pause for a network that was away, is for the rest. Packages that do not exist fail at once.
download() { apt-get install --yes --download-only "$@"; }
again() { apt-get install --simulate "$@" >/dev/null 3>/dev/null && sleep "$pause" && download "$@"; }
download "$@" || pause=3 again "$@" || pause=15 again "$@"
flock --unlock 9

mount -t proc proc /mnt/root/proc
mount --rbind /dev /mnt/root/dev
cp "$building/settings/dpkg.cfg" /mnt/root/etc/dpkg/dpkg.cfg.d/layer
# Manuals are left out, but packages of Java fail where they cannot put links beside them.
mkdir -p /mnt/root/usr/share/man/man1
apt-get install --yes --no-download -o Debug::NoLocking=true "$@"

umount /mnt/root/var/cache/apt/archives
rm -f /mnt/root/etc/dpkg/dpkg.cfg.d/layer
cd /mnt/root
rm -rf var/cache/apt var/cache/debconf/*-old var/cache/ldconfig/aux-cache var/lib/dpkg/*-old var/log/apt var/log/*.log var/lib/systemd/deb-systemd-helper-enabled
# What a container may never do is worth no risk.
find . -xdev -type f -perm /6000 -exec chmod ug-s {} +
