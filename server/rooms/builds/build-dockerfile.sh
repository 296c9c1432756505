# Builds an image inside the container of a build, as `dash -c <this> build <file> <target> [<name>=<value> …]`. Images that it begins with are
# in /mnt/images, listed with their ids in /app/images; what it kept of earlier builds is in the cache. The result is left in /app/image.
set -eu
file=$1 target=$2
shift 2
export TMPDIR=/var/tmp HOME=/root BUILDAH_ISOLATION=chroot STORAGE_DRIVER=overlay
buildah() { command buildah --root /mnt/cache/containers --runroot /run/containers "$@"; }
while read -r folder id; do
  buildah inspect --type image "$id" </dev/null >/dev/null 2>&1 || buildah pull --quiet "dir:/mnt/images/$folder" </dev/null >/dev/null
done </app/images
for argument; do
  set -- "$@" --build-arg "$argument"
  shift
done
if [ -n "$target" ]; then set -- "$@" --target "$target"; fi
buildah build --network host --layers --pull=never --iidfile /app/id --file "$file" "$@" /app/source
buildah push --quiet --disable-compression "$(cat /app/id)" oci:/app/image
