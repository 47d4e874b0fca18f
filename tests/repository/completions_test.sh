#!/usr/bin/env bash
# completions_test.sh ROOT YOLK: what bash completes, from the help of the built command.
set -euo pipefail
root=$1 yolk=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -B "$root/tools/docs_site/commands.py" "$yolk" "$folder" --no-man
# shellcheck source=/dev/null
. "$folder/completions/yolk"
cd "$folder"
touch data.csv

# expect WANTED WORD...: the last word is completed to the wanted ones, among others.
expect() {
  local wanted=$1 one
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _yolk || true  # compgen finds nothing for one of two lists
  for one in $wanted; do
    [[ " ${COMPREPLY[*]} " == *" $one "* ]] || { echo "'$*' is completed to '${COMPREPLY[*]}', without $one"; exit 1; }
  done
}
expect "train" yolk tr
expect "eval embed" yolk e
expect "--population" yolk train --pop
expect "--no-antithetic" yolk train --no-a
expect "list show explain export import pin forget" yolk tune table ""
expect "--data" yolk train bytes --d
expect "data.csv" yolk train --out d
expect "data.csv" yolk train d
[[ $(grep -c -- "-l population " "$folder/completions/yolk.fish") -ge 2 ]] || { echo "fish does not know --population"; exit 1; }
