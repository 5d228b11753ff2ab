#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What launchers take for ssh: runs a command on one of the hosts that two_hosts.py made, which are
# namespaces and not computers, so that no server needs to run in them.
# Called as `reach_host.sh [-OPTION...] ADDRESS COMMAND...`; FOREBAY_HOSTS says which process holds
# the namespaces of which address: "10.213.0.1=4711 10.213.0.2=4712".
set -eu

while [ "${1#-}" != "$1" ]; do shift; done
address=$1
shift
for host in $FOREBAY_HOSTS; do
  if [ "${host%%=*}" = "$address" ]; then
    exec nsenter --target "${host#*=}" --net --uts --ipc --mount --wdns="$PWD" -- sh -c "$*"
  fi
done
echo "no host has the address $address" >&2
exit 1
