#!/bin/sh
# at_path.sh FOLDER PATH DIRECTORY COMMAND...: run COMMAND in DIRECTORY, where PATH is FOLDER.
# Only COMMAND sees it so: the mounts are in a namespace of its own, and the file system's real root
# is left as it is. Fails when this user may not do that, or the first element of PATH exists.
set -eu

if [ "$1" != inside ]; then
    first=$(echo "$2" | cut -d / -f 2)
    if [ -e "/$first" ]; then
        echo "at_path.sh: /$first exists here" >&2
        exit 1
    fi
    user=$([ "$(id -u)" = 0 ] || echo --user --map-root-user)
    # shellcheck disable=SC2086 # two options or none
    exec unshare $user --mount --propagation private sh "$0" inside "$@"
fi

folder=$2 path=$3 directory=$4
shift 4
root=/mnt # any empty folder will do: inside, it becomes the root
mount -t tmpfs -o mode=755 at-path "$root"
for entry in /*; do
    if [ -L "$entry" ]; then
        cp -P "$entry" "$root$entry"
    elif [ "$entry" = "$root" ]; then
        mkdir "$root$entry"
    elif [ -d "$entry" ]; then
        mkdir "$root$entry"
        mount --rbind "$entry" "$root$entry"
    elif [ -f "$entry" ]; then
        : >"$root$entry"
        mount --bind "$entry" "$root$entry"
    fi
done
mkdir -p "$root$path"
mount --bind "$folder" "$root$path"
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
