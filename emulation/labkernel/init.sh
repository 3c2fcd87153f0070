#!/bin/busybox sh
# First process of a lab kernel's guest: makes a root of its own over the host's files, then becomes the agent.
# From the kernel's command line: LAB (the host's folder with agent, job and binds), MODULES (.../uml/modules).
# Everything is done by the shell or by busybox: starting a program costs the guest 10 ms and more, busybox 4.
PATH=/none
b=/bin/busybox
fail() { echo "lab kernel: $*"; exit 1; }

$b mount -t proc proc /proc && read -r _ _ release _ </proc/version || fail "no /proc"
kernel=$MODULES/$release
new=/run/root
$b mount -t tmpfs -o mode=755 run /run && $b mkdir /run/upper /run/work $new || fail "no /run"
$b insmod "$kernel/kernel/fs/overlayfs/overlay.ko" || fail "cannot load $kernel/kernel/fs/overlayfs/overlay.ko"
$b mount -t overlay -o lowerdir=/,upperdir=/run/upper,workdir=/run/work overlay $new || fail "no overlay of /"
$b mount -t proc proc $new/proc && $b mount -t sysfs sys $new/sys && $b mount -t devtmpfs dev $new/dev \
  || fail "no /proc, /sys, /dev"
$b mount -t tmpfs -o mode=755 run $new/run && $b mount -t tmpfs -o mode=1777 tmp $new/tmp || fail "no /run, /tmp"
$b mkdir -p $new/dev/pts $new/dev/shm $new/run/lock $new/run/home $new/run/lab $new/run/old $new/lib/modules
$b mount -t tmpfs -o mode=1777 shm $new/dev/shm || fail "no /dev/shm"
$b mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts $new/dev/pts || fail "no /dev/pts"
$b mount -t cgroup2 cgroup $new/sys/fs/cgroup || fail "no /sys/fs/cgroup"
$b ln -sf pts/ptmx $new/dev/ptmx
$b ln -s /proc/self/fd $new/dev/fd
# Where the kernel and modprobe look for modules; a host without kmod lends busybox's modprobe.
$b ln -sfn "$kernel" "$new/lib/modules/$release"
[ -x $new/sbin/modprobe ] || $b ln -s $b $new/sbin/modprobe

bind() { # bind r|w DIR WHERE
  $b mkdir -p "$new$3" && $b mount -o bind "$2" "$new$3" || fail "cannot show the guest $2"
  [ "$1" = w ] || $b mount -o remount,bind,ro "$new$3" || fail "cannot protect $2"
}
while IFS= read -r line; do bind "${line%%/*}" "/${line#*/}" "/${line#*/}"; done <"$LAB/binds"
bind r "$LAB" /run/lab

# Not a bare chroot: in that, making a user namespace is refused.
cd $new && $b pivot_root . run/old && $b umount -l /run/old || fail "cannot change the root"
# Other kernels have it built in; here it would come with the first who asks, in the middle of an experiment.
$b modprobe ipv6 || fail "cannot load ipv6"
$b ip link set lo up || fail "no loopback"
read -r name </etc/hostname && echo "$name" >/proc/sys/kernel/hostname
# The soft limit is small because Mininet closes every descriptor up to it, at 15 us each, for every node.
ulimit -Hn 65536 && ulimit -Sn 1024
exec /usr/bin/python3 -E -s -S /run/lab/agent.py
fail "cannot start /usr/bin/python3"
