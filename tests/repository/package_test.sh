#!/usr/bin/env bash
# `cpack` makes an archive that runs from any folder on its own libraries, and Debian packages that say what they need.
#   package_test.sh ROOT BUILD DRIVER_FILE
root=$1 build=$2 driver=$3
fail() { printf '%s\n' "$*" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$build" || exit 1
cpack -G TGZ -B "$work/made" >"$work/said.txt" 2>&1 || fail "no archive: $(cat "$work/said.txt")"
mkdir "$work/an other place"
tar -C "$work/an other place" -xzf "$work"/made/yolk-*.tar.gz || fail "the archive cannot be unpacked"
rm -rf "$work/made"
folder=$(echo "$work/an other place"/yolk-*)
for file in lib/libyolk_hyper.a lib/cmake/yolk/yolk-config.cmake include/yolk/system.hpp lib/loader/libvulkan.so.1 licences/libsqlite3-0; do
  [ -s "$folder/$file" ] || fail "$file is not in the archive"
done
# run ARGUMENT...: on an empty environment.
run() { env -i VK_ICD_FILENAMES="$driver" YOLK_CACHE="$work/cache" "$@" >"$work/said.txt" 2>&1; }
run "$folder/yolk" --version || fail "it does not start: $(cat "$work/said.txt")"
grep -qx 'yolk [0-9.]*' "$work/said.txt" || fail "yolk --version says $(cat "$work/said.txt")"
run LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/libraries" "$folder/yolk" train cartpole --generations 2 --population 64 --out "$work/out" ||
  fail "it does not train: $(cat "$work/said.txt")"
# SQLite is loaded where there is a tuning table.
printf '{"yolk_tuning": 2, "choices": []}' >"$work/none.json"
run LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/libraries" "$folder/yolk" tune table import "$work/none.json" || fail "no table is made: $(cat "$work/said.txt")"
grep -h 'calling init' "$work"/libraries.* >"$work/taken.txt"
for name in libfmt libsqlite3; do grep -qF "$folder/lib/$name" "$work/taken.txt" || fail "$name was not taken from the archive"; done

command -v dpkg-deb >/dev/null || exit 0
cpack -G DEB -B "$work/made" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/said.txt" 2>&1 || fail "no Debian package: $(cat "$work/said.txt")"
command=$(echo "$work"/made/yolk_*.deb) library=$(echo "$work"/made/libyolk-dev_*.deb)
# holds PACKAGE FILE...; needs PACKAGE NAME...
holds() { local package=$1 file; shift; dpkg-deb -c "$package" >"$work/list.txt"; for file; do grep -q " \./usr/$file$" "$work/list.txt" || fail "$package has no $file"; done; }
needs() { local package=$1 name; shift; dpkg-deb -f "$package" Depends >"$work/list.txt"; for name; do grep -qw -e "$name" "$work/list.txt" || fail "$package does not depend on $name: $(cat "$work/list.txt")"; done; }
holds "$command" bin/yolk libexec/yolk/yolk-worker share/doc/yolk/LICENSE share/doc/yolk/licences/libshaderc-dev
! grep -E '/(include|lib)/' "$work/list.txt" || fail "the command's package has what belongs into the library's"
needs "$command" libc6 libstdc++6 libfmt9 libsqlite3-0 libvulkan1
holds "$library" lib/libyolk_core.a lib/libyolk_volk.a lib/cmake/yolk/yolk-config.cmake lib/pkgconfig/yolk.pc include/yolk/train.hpp
! grep -E '/(bin|libexec)/' "$work/list.txt" || fail "the library's package has what belongs into the command's"
version=$(dpkg-deb -f "$command" Version)
needs "$library" "yolk (= $version)" libfmt-dev libshaderc-dev spirv-tools
# Unpacked, it finds its worker, which compiles an environment.
dpkg-deb -x "$command" "$work/unpacked" || fail "$command cannot be unpacked"
run "$work/unpacked/usr/bin/yolk" train --env "$root/shaders/environments/acrobot.glsl" --generations 1 --population 32 --out "$work/acrobot" ||
  fail "the packaged yolk does not train: $(cat "$work/said.txt")"
