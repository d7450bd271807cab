#!/usr/bin/env bash
# Installs the servers that the tests of the backends need and npm does not bring: redis-server. What cannot be had the tests tell of.
set -uo pipefail

if command -v redis-server >/dev/null; then
  redis-server --version
  exit 0
fi
case ",${LEXIGRAM_SKIP_BACKENDS:-}," in *redis*)
  echo "redis-server is not there, and left out by LEXIGRAM_SKIP_BACKENDS"
  exit 0
  ;;
esac
if [ -n "${TEST_REDIS_URL:-}" ]; then
  echo "redis-server is not there; the tests use TEST_REDIS_URL"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "redis-server is not there, and can only be installed by root on Debian"
  exit 0
fi

# The tests start servers of their own: the package must not start the service of the system.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
if apt-get update -q && apt-get install -q -y --no-install-recommends redis-server; then
  redis-server --version
else
  echo "redis-server could not be installed"
fi
