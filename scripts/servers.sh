#!/usr/bin/env bash
# Installs what tests need and npm does not bring: redis-server, and Chromium for pages. What cannot be had the tests tell of.
set -uo pipefail

left_out() { # name
  case ",${LEXIGRAM_SKIP_BACKENDS:-}," in *",$1,"*) echo "$1 is left out by LEXIGRAM_SKIP_BACKENDS" ;; *) return 1 ;; esac
}

packages=()
if command -v redis-server >/dev/null; then
  redis-server --version
elif [ -n "${TEST_REDIS_URL:-}" ]; then
  echo "the tests use TEST_REDIS_URL"
elif ! left_out redis; then
  packages+=(redis-server)
fi
if [ -n "${CHROMIUM_PATH:-}" ]; then
  echo "the tests use CHROMIUM_PATH"
elif command -v chromium >/dev/null; then
  chromium --version
elif ! left_out chromium; then
  packages+=(chromium)
fi
[ ${#packages[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "not there, and can only be installed by root on Debian: ${packages[*]}"
  exit 0
fi

# The tests start servers of their own: a package must not start the service of the system.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -q -y --no-install-recommends "${packages[@]}" || echo "could not be installed: ${packages[*]}"
