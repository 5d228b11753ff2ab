#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Replaces ssh for launchers: runs a command on one of the hosts of two_hosts.py, which are
# namespaces and not computers, so no server needs to run in them.
# Called as `enter_host.sh [-OPTION...] ADDRESS COMMAND...`. FOREBAY_HOSTS has the process that
# holds the namespaces of each address: "10.213.0.1=4711 10.213.0.2=4712".
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
