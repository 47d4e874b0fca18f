#!/usr/bin/env bash
# A program that opens a device links no tuner, no oracle, no Eigen and no SQLite; nor does one that trains, and no systems and no
# model calls besides. SQLite's library is loaded where there is a tuning table to read.
# The command has all of that, but asks no language model: it links neither libcurl nor SQLite.
#   links_test.sh OPENS TRAINS ASKS COMMAND LAVAPIPE: three programs, the yolk command, the file of a driver
opens=$1 trains=$2 asks=$3 command=$4 lavapipe=$5
fail() { printf '%s\n' "$*" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export VK_ICD_FILENAMES=$lavapipe YOLK_CACHE=$work/cache YOLK_TABLE='' YOLK_DEVICE=''

# Each is in the command or in the program that asks, so each would be found.
libraries='libsqlite3|libcurl|libz\.so'
names=('yolk::autotune::' 'yolk::oracle::' 'Eigen::' 'yolk::hyper::' 'yolk::chat::')
for found in "$asks libsqlite3" "$asks libcurl" "$command libz\.so"; do
  objdump -p "${found% *}" >"$work/needed.txt"
  grep -qE "NEEDED.*${found##* }" "$work/needed.txt" || fail "${found% *} is not linked with ${found##* }: the check finds nothing"
done
! objdump -p "$command" | grep -E 'NEEDED.*(libsqlite3|libcurl)' >&2 || fail "$command is linked with what only calls of models need"
for program in "$opens" "$trains" "$command"; do
  nm -C "$program" >"$work/symbols.txt" || fail "$program has no symbols"
  for name in "${names[@]}"; do
    if [ "$program" = "$command" ]; then
      grep -q "$name" "$work/symbols.txt" || fail "$program has no $name: the check finds nothing"
    elif grep "$name" "$work/symbols.txt" | head -n 3 >&2 && grep -q "$name" "$work/symbols.txt"; then
      fail "$program has $name"
    fi
  done
done
for program in "$opens" "$trains"; do
  ! objdump -p "$program" | grep -E "NEEDED.*($libraries)" >&2 || fail "$program is linked with what only tuning and systems need"
done

# run: the program, and which libraries the loader looked for.
run() { LD_DEBUG=files "$opens" >"$work/said.txt" 2>"$work/loaded.txt" || fail "$opens fails: $(tail -n 5 "$work/loaded.txt")"; }
run
grep -q 'libvulkan' "$work/loaded.txt" || fail "the loader says nothing of what is loaded"
! grep -q 'libsqlite3' "$work/loaded.txt" || fail "SQLite is loaded where there is no tuning table"
printf '{"yolk_tuning": 2, "choices": []}' >"$work/none.json"
"$command" tune table import "$work/none.json" >"$work/said.txt" 2>&1 || fail "no table is made: $(cat "$work/said.txt")"
[ -s "$work/cache/tuning.sqlite" ] || fail "the table is not where programs look for it"
run
grep -q 'init.*libsqlite3' "$work/loaded.txt" || fail "SQLite is not loaded where there is a tuning table"

# Without the library the program runs, untuned, and says why.
mkdir "$work/broken"
echo 'no library' >"$work/broken/libsqlite3.so.0"
LD_LIBRARY_PATH=$work/broken "$opens" >"$work/said.txt" 2>&1 || fail "without SQLite: $(cat "$work/said.txt")"
grep -q 'No tuning is taken: A tuning table is read and written by SQLite' "$work/said.txt" ||
  fail "nothing is said of a table that cannot be read: $(cat "$work/said.txt")"
