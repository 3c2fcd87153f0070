#!/bin/busybox sh
# First process of a lab kernel's guest: makes a root of its own over the host's files, then becomes the agent.
# From the kernel's command line: LAB (the host's folder with agent, job and binds), MODULES (.../uml/modules).
#
# The shell runs its own applets, through /proc/self/exe: starting a program costs the guest 10 ms, an applet 3.
# Until the guest has its /proc, that is the host's, where "self" is this kernel.
PATH=/none
/bin/busybox mount -t proc proc /proc || exit
fail() { echo "lab kernel: $*"; exit 1; }
kernel=$MODULES/$(uname -r)
new=/run/root

mount -t tmpfs -o mode=755 run /run && mkdir /run/upper /run/work $new || fail "no /run"
insmod "$kernel/kernel/fs/overlayfs/overlay.ko" || fail "cannot load $kernel/kernel/fs/overlayfs/overlay.ko"
mount -t overlay -o lowerdir=/,upperdir=/run/upper,workdir=/run/work overlay $new || fail "no overlay of /"
mount -t proc proc $new/proc && mount -t sysfs sys $new/sys && mount -t devtmpfs dev $new/dev || fail "no /proc, /sys, /dev"
mount -t tmpfs -o mode=755 run $new/run && mount -t tmpfs -o mode=1777 tmp $new/tmp || fail "no /run, /tmp"
mkdir -p $new/dev/pts $new/dev/shm $new/run/lock $new/run/home $new/run/lab $new/run/old
mount -t tmpfs -o mode=1777 shm $new/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts $new/dev/pts && ln -sf pts/ptmx $new/dev/ptmx
[ -d $new/sys/fs/cgroup ] && mount -t cgroup2 cgroup $new/sys/fs/cgroup
ln -s /proc/self/fd $new/dev/fd

bind() { # bind r|w DIR [WHERE]
  mkdir -p "$new${3:-$2}" && mount -o bind "$2" "$new${3:-$2}" || fail "cannot show the guest $2"
  [ "$1" = w ] || mount -o remount,bind,ro "$new${3:-$2}" || fail "cannot protect $2"
}
while IFS= read -r line; do bind "${line%%/*}" "/${line#*/}"; done <"$LAB/binds"
bind r "$LAB" /run/lab

# Where kernel and modprobe look for modules; a host without kmod lends busybox's modprobe.
mkdir -p $new/lib/modules && ln -sfn "$kernel" "$new/lib/modules/${kernel##*/}"
[ -x $new/sbin/modprobe ] || ln -s /bin/busybox $new/sbin/modprobe
# Not a bare chroot: in that, making a user namespace is refused.
cd $new && pivot_root . run/old && umount -l /run/old || fail "cannot change the root"

# Other kernels have it built in; here it would come with the first who asks, in the middle of an experiment.
modprobe ipv6
ip link set lo up
read -r name </etc/hostname && echo "$name" >/proc/sys/kernel/hostname
# The soft limit is small because Mininet closes every descriptor up to it, at 15 us each, for every node.
ulimit -Hn 65536 && ulimit -Sn 1024
exec /usr/bin/python3 -E -s -S /run/lab/agent.py
fail "cannot start /usr/bin/python3"
