#!/bin/sh
# Install the Debian packages that the tests marked `real` need. Somebody who isn't root is told
# which are missing and which tests are left out for it; that is no failure.
set -eu

# package: what it is for
wanted='btrfs-progs: tests on btrfs
ceph-mon: tests on Ceph
ceph-osd: tests on Ceph
e2fsprogs: tests on ext4
locales: tests in locales other than C
openssl: tests with TLS and with tokens
radosgw: tests on Ceph
strace: tests of the order of system calls
swift-account: tests on Swift
swift-container: tests on Swift
swift-object: tests on Swift
swift-proxy: tests on Swift
tinyproxy-bin: tests through a proxy
util-linux: tests on mounted file systems
xfsprogs: tests on XFS'

missing=$(echo "$wanted" | while IFS=: read -r package purpose; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        echo "$package:$purpose"
done)

if [ -n "$missing" ]; then
    names=$(echo "$missing" | cut -d : -f 1)
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "tools/debian_packages.sh: installing" $names
        # The tests start their servers themselves: none is to run as a service of the machine.
        policy=/usr/sbin/policy-rc.d
        if ! [ -e $policy ]; then
            trap 'rm -f $policy' EXIT
            printf '#!/bin/sh\nexit 101\n' >$policy
            chmod +x $policy
        fi
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-install-recommends $names >/dev/null
    else
        echo "left out, since these Debian packages are missing and only root can install them:"
        echo "$missing" | sed 's/^\([^:]*\): *\(.*\)/  \2 (\1)/'
    fi
fi

if [ "$(id -u)" != 0 ]; then
    echo "left out, since only root can mount: tests on ext4, XFS and btrfs, and of full disks"
fi
