#!/bin/sh
# Makes a copy of this machine's root folder, with its devices, in which tests can install anything.
# Files that are written there stay in memory and disappear when this script ends. The script prints
# "ready" or an error, and runs until its standard input ends. It needs new namespaces:
#   unshare --mount --pid --net --fork --kill-child --propagation private overlay_root.sh FOLDER
# FOLDER and this checkout are visible at their own paths in the copy. FOLDER/written contains the files
# that were written. With "systemd" after FOLDER, and --cgroup, the copy's first process is a systemd,
# which starts no services and runs until it is killed.
set -e
folder=$1
checkout=$(cd "$(dirname "$0")/.." && pwd)
room=$folder/room
mkdir "$folder/written" "$room"
mount -t tmpfs -o mode=0755 root "$room"
mkdir "$room/written" "$room/work" "$room/root"
mount -t overlay -o "lowerdir=/,upperdir=$room/written,workdir=$room/work" root "$room/root"
cd "$room/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
if [ "${2:-}" = systemd ]; then
    mount -t cgroup2 none sys/fs/cgroup
else
    mount --rbind /sys/fs/cgroup sys/fs/cgroup
fi
mount --rbind /dev dev
mount -t tmpfs -o mode=0755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mkdir -p run/lock ".$folder"
mount --bind "$folder" ".$folder"
mount --bind "$room/written" ".$folder/written"
if ! [ -e ".$checkout" ]; then # in /tmp
    mkdir -p ".$checkout"
    mount --bind "$checkout" ".$checkout"
fi
pivot_root . .
umount -l /
cd /
ip link set lo up
echo ready
if [ "${2:-}" = systemd ]; then
    rm -f /usr/sbin/policy-rc.d # it prevents packages from starting services in a container
    mkdir /run/systemd /run/systemd/system
    printf '[Unit]\nDefaultDependencies=no\n' >/run/systemd/system/alone.target
    container=headway exec /lib/systemd/systemd --system --unit=alone.target --log-target=null
fi
exec cat >/dev/null
