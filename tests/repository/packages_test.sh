#!/usr/bin/env bash
# The functions of tools/lib.sh that decide what is installed. Installs nothing.
tool=packages_test
. "$1/tools/lib.sh"
expect() { [ "$2" = "$3" ] || { printf '%s: expected "%s", got "%s"\n' "$1" "$3" "$2" >&2; exit 1; }; }

expect "sections" "$(grep -E '^[a-z]+:$' "$root/tools/packages" | tr -d '\n')" "run:test:python:check:docs:"
expect "duplicates" "$(packages_of run test python check | sort | uniq -d)" ""
# Not "packages_of | grep -q": grep leaves at the first match, and under pipefail the writer's broken pipe is a failure now and then.
running=$(packages_of run)
testing=$(packages_of test)
grep -qx cmake <<<"$running" || { echo "run does not list cmake" >&2; exit 1; }
! grep -qx libgtest-dev <<<"$running" || { echo "running must not need the tests' packages" >&2; exit 1; }
grep -qx libgtest-dev <<<"$testing" || { echo "test does not list libgtest-dev" >&2; exit 1; }
if command -v dpkg-query >/dev/null; then
  expect "what is missing" "$(missing_packages base-files yolk-is-no-package dpkg)" "yolk-is-no-package"
fi
# Nobody else may name packages: two lists drift.
others=$(grep -lE 'apt-get +install|apt +install' "$root"/tools/* "$root"/.ci/run 2>/dev/null | grep -v '/tools/lib.sh$' || true)
expect "other installers" "$others" ""
