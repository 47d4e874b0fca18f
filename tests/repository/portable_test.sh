#!/usr/bin/env bash
# tools/portable makes a folder with all libraries of yolk but glibc's, which runs from another place on nothing else.
#   portable_test.sh ROOT YOLK DRIVER_FILE WORK
root=$1 yolk=$2 driver=$3 work=$4
fail() { printf '%s\n' "$*" >&2; exit 1; }
rm -rf "$work"; mkdir -p "$work"
# A machine with many libraries: whoever stops reading at the first one that fits breaks the pipe.
mkdir "$work/tools"
printf '#!/bin/sh\nPATH=/sbin:/usr/sbin:$PATH\nldconfig "$@"\nseq -f "libfiller%%.0f.so (libc6,x86-64) => /nowhere" 20000\n' >"$work/tools/ldconfig"
chmod +x "$work/tools/ldconfig"
PATH=$work/tools:$PATH XZ_OPT=-0 "$root/tools/portable" --yolk "$yolk" --out "$work/yolk" --archive >"$work/made.txt" || fail "the folder could not be made"
grep -q 'for x86-64 with glibc 2\.[0-9]* or newer' "$work/made.txt" || fail "what it needs is not said: $(cat "$work/made.txt")"
mkdir "$work/an other place"
tar -C "$work/an other place" -xJf "$work/yolk.tar.xz" || fail "the archive cannot be unpacked"
diff -r "$work/yolk" "$work/an other place/yolk" || fail "the archive is not the folder"
rm -rf "$work/yolk" "$work/yolk.tar.xz"
folder=$work/an\ other\ place/yolk

# Every library that ldd names is there, except glibc's, which is not.
while read -r name; do
  case $name in
    libc.so.6|libm.so.6|libdl.so.2|libpthread.so.0|librt.so.1|libresolv.so.2|libutil.so.1|linux-vdso.so.1|/lib64/ld-linux*)
      [ -z "$(find "$folder" -name "${name##*/}")" ] || fail "glibc's $name is in the folder" ;;
    *) [ -e "$folder/lib/$name" ] || [ -e "$folder/lib/base/$name" ] || fail "$name is not in the folder" ;;
  esac
done < <(ldd "$yolk" | awk '{ print $1 }')
[ -e "$folder/lib/base/libstdc++.so.6" ] && [ -e "$folder/lib/loader/libvulkan.so.1" ] || fail "the C++ library or the loader is missing"
[ -s "$folder/licences/libsqlite3-0" ] && [ -s "$folder/licences/libshaderc-dev" ] || fail "licences are missing"
"$folder/gpu-trial" --help | grep -q 'prints one page' || fail "gpu-trial does not start in the folder"
[ "$("$root/tools/portable" --out "$root" 2>&1)" = "tools/portable: error: $root exists, and an earlier run of this tool did not make it; remove it, or give another --out" ] ||
  fail "a folder that it did not make would be replaced"

# run ARGUMENT...: on an empty environment.
run() { env -i VK_ICD_FILENAMES="$driver" YOLK_CACHE="$work/cache" "$@"; }
run LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/libraries" "$folder/yolk" devices >"$work/devices.txt" || fail "yolk devices failed"
grep -q 'llvmpipe' "$work/devices.txt" || fail "yolk devices does not list lavapipe: $(cat "$work/devices.txt")"
# SQLite is loaded where there is a tuning table.
printf '{"yolk_tuning": 2, "choices": []}' >"$work/none.json"
run LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/libraries" "$folder/yolk" tune table import "$work/none.json" >"$work/said.txt" 2>&1 || fail "no table is made: $(cat "$work/said.txt")"
# Its own libraries come from the folder, those of the driver from the machine.
grep -h 'calling init' "$work"/libraries.* >"$work/taken.txt"
for name in libfmt libsqlite3; do grep -qF "$folder/lib/$name" "$work/taken.txt" || fail "$name was not taken from the folder"; done
for name in libstdc++.so.6 libz.so.1 libvulkan.so.1; do ! grep "/$name" "$work/taken.txt" | grep -qF "$folder" || fail "the machine's $name was not preferred"; done

# An environment is compiled by the folder's yolk-worker, on the folder's libraries.
run "$folder/yolk" train --env "$root/shaders/environments/acrobot.glsl" --generations 1 --population 32 --quiet --out "$work/out" >"$work/said.txt" 2>&1 ||
  fail "an environment of one's own does not train: $(cat "$work/said.txt")"
rm -rf "$work/out"

# A library that cannot be loaded is named.
library=$(find "$folder/lib" -name 'libfmt.so*' | head -n 1)
: >"$library"
status=0
run "$folder/yolk" --version >"$work/said.txt" 2>&1 || status=$?
[ "$status" -eq 1 ] && grep -q 'yolk: error: a library cannot be used. This folder needs' "$work/said.txt" && grep -qF "${library##*/}" "$work/said.txt" ||
  fail "a damaged library: status $status, $(cat "$work/said.txt")"
mv "$work/an other place" "$work/two:places"
status=0
run "$work/two:places/yolk/yolk" --version >"$work/said.txt" 2>&1 || status=$?
[ "$status" -eq 2 ] && grep -q 'move the folder' "$work/said.txt" || fail "a colon in the path: status $status, $(cat "$work/said.txt")"
rm -rf "$work"
