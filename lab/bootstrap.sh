#!/bin/bash
# Brings a fresh Debian or Ubuntu machine to where `lab` runs: system packages, virtual environment, locked
# Python packages.  What is already there is left alone, so a second call does nothing.
#   bootstrap.sh run       what experiments need, the packages of all stacks included
#   bootstrap.sh test      that, and the tests' oracles and loads (tshark, chromium, Java's compiler, iperf3, curl)
#   bootstrap.sh lint      that, without what only makes things start faster and without the lab kernel's shim
#   bootstrap.sh packages  the system packages alone
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$*" >&2; exit 1; }

if [ ! -x /usr/bin/python3 ]; then
  [ "$(id -u)" = 0 ] || fail "python3 is missing, and only root can install it; run as root: lab/bootstrap.sh packages"
  apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 || fail "install python3, then repeat"
fi
/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || fail "Python 3.11 or newer is needed as /usr/bin/python3, this is $(/usr/bin/python3 --version): use Debian 12 or Ubuntu 24.04"

# command:package, for commands that packages bring.  What stacks need is in their stack.toml.
needs=(mnexec:mininet ip:iproute2 nft:nftables tcpdump:tcpdump ping:iputils-ping strace:strace nsenter:util-linux setpriv:util-linux)
# The lab kernel, for machines whose own has no netem and for users who are not root; it is made for this processor only.
# tcc builds its shim for processors with AMX.
[ "$(uname -m)" = x86_64 ] && needs+=(linux.uml:user-mode-linux busybox:busybox-static tcc:tcc)
[[ "${1:-run}" =~ ^(test|lint)$ ]] && needs+=(tshark:tshark chromium:chromium git:git ethtool:ethtool iperf3:iperf3 curl:curl javac:openjdk-17-jdk-headless)

missing=()
for need in "${needs[@]}"; do
  command -v "${need%%:*}" >/dev/null || [ -x "/usr/sbin/${need%%:*}" ] || missing+=("${need#*:}")
done
/usr/bin/python3 -c 'import nftables' 2>/dev/null || missing+=(python3-nftables)
for_pip=()
/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || for_pip+=(python3-venv)
# What builds our own package: Debian's venv brings too old a setuptools to do without wheel, Ubuntu's none at all.
/usr/bin/python3 -c 'import setuptools, wheel' 2>/dev/null || for_pip+=(python3-setuptools python3-wheel)

stamp=.venv/.airwire-locked made=.venv/.airwire-place
place="$(pwd -P) $(/usr/bin/python3 -c 'import sys; print(*sys.version_info[:2])')"
want=$({ cat requirements.lock pyproject.toml lab/bootstrap.sh; echo "$place"; } | sha256sum | cut -d' ' -f1)
locked() { [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; }

told() {
  [ "$failed" ] || return 0
  tail -20 "$failed" >&2
  fail "that did not work (see above, and all of it in $failed); once the cause is gone, repeat what you typed"
}

python_packages() {
  locked && return
  mkdir -p build
  exec 9>>build/.set-up.lock  # two at once would take packages from under each other
  flock 9
  locked && return
  say "installing the locked Python packages into .venv"
  parts=(build/requirements-spark.txt build/requirements-others.txt) logs=(build/set-up-spark.log build/set-up.log)
  failed=''
  rm -f "$stamp"  # what is there is mixed until all of it is installed
  # The system's Python, and its packages in sight: mininet is packaged for it and for no other.  Scripts in it name
  # their place, and one that was interrupted lacks pip or that sight.
  if [ "$(cat "$made" 2>/dev/null || echo "$place")" != "$place" ] \
      || ! .venv/bin/pip --version 2>/dev/null | grep -qF "from $(pwd -P)/.venv/" \
      || ! grep -q '^include-system-site-packages = true' .venv/pyvenv.cfg; then
    /usr/bin/python3 -m venv --clear --system-site-packages .venv >"${logs[1]}" 2>&1 || failed=${logs[1]}
    told
  fi
  echo "$place" >"$made"
  # Spark takes as long as all others together, since it is built here: beside them, in a process group that ends with us.
  awk -v spark="${parts[0]}" -v others="${parts[1]}" \
    '/^[^ #]/ { part = /^pyspark==/ ? spark : others } part { print >part }' requirements.lock
  install() { .venv/bin/pip install --disable-pip-version-check --no-deps "$@"; }
  set -m
  install --require-hashes -r "${parts[0]}" >"${logs[0]}" 2>&1 &
  set +m
  built="-$!"
  # An interrupt pip takes as a reason to leave no files; what it has started may go on without it.
  trap 'kill -INT -- "$built" 2>/dev/null; wait; kill -KILL -- "$built" 2>/dev/null' EXIT
  if { install --require-hashes -r "${parts[1]}" && install --no-build-isolation -e .; } >"${logs[1]}" 2>&1; then
    wait $! || failed=${logs[0]}
    trap - EXIT
  else
    failed=${logs[1]}
  fi
  told
  rm -f "${logs[@]}" "${parts[@]}" build/spark.jsa
  echo "$want" >"$stamp.new"
  mv "$stamp.new" "$stamp"
}

# Stacks that other packages bring are in the environment, once there is one.  Before, it is made while the system's
# packages come, in a process group that ends with us.
python=/usr/bin/python3
.venv/bin/python -c 'import tomllib' 2>/dev/null && python=.venv/bin/python
if [ ! -e .venv ] && [ "${1:-run}" != packages ] && [ "${#for_pip[@]}" = 0 ]; then
  set -m
  (trap 'exit 130' INT; python_packages) </dev/null &
  set +m
  beside=$!
  trap 'kill -INT -- "-$beside" 2>/dev/null; wait' EXIT
fi
missing+=("${for_pip[@]}")

"$python" -m lab.system_packages "${missing[@]}" || exit 1
[ "${1:-run}" = packages ] && exit

/usr/bin/python3 -c 'import mininet.net' 2>/dev/null \
  || fail "the system Python does not see mininet; this brings it: apt-get install --reinstall mininet"

if [ "${beside:-}" ]; then
  wait "$beside" || exit 1
  trap - EXIT
fi
(python_packages)
[ "${1:-run}" = lint ] && exit

if [ ! -e build/spark.jsa ]; then
  say "archiving Spark's classes, which makes every report start faster"
  .venv/bin/python -m analysis.spark.warm >/dev/null || say "that did not work; reports will start more slowly"
fi

if [ "$(uname -m)" = x86_64 ]; then
  .venv/bin/python -m emulation.labkernel.shim_build || exit 1
fi
