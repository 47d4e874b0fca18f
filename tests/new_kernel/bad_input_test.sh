#!/usr/bin/env bash
# What tools/new-kernel refuses, it refuses with a message and without writing anything. bad_input_test.sh CHECKOUT FOLDER
set -euo pipefail
tool=$1/tools/new-kernel work=$2
rm -rf "$work"
mkdir -p "$work/empty" "$work/checkout/shaders" "$work/checkout/docs/kernels" "$work/checkout/primitives/include" "$work/checkout/hyper/include/yolk"
printf 'yolk_kernel(taken_f32 FAMILY taken SOURCE taken/taken.comp)\n' >"$work/checkout/shaders/kernels.cmake"
printf '| kernel | fields | class |\n|---|---|---|\n' >"$work/checkout/docs/kernels/README.md"
printf '# there\n' >"$work/checkout/docs/kernels/there.md"
printf 'struct DeviceDesc {\n};\n' >"$work/checkout/primitives/include/device.hpp"
: >"$work/checkout/hyper/include/yolk/system.hpp"
state() { (cd "$work" && find . -type f -exec cksum {} + | sort; find . -type d | sort); }
before=$(state)

# refused STATUS WORDS ARGUMENT...
refused() {
  local status=0 wanted=$1 words=$2 said
  shift 2
  said=$("$tool" "$@" 2>&1 >/dev/null) || status=$?
  [ "$status" -eq "$wanted" ] || { echo "new-kernel $*: exit status $status where $wanted was expected: $said" >&2; exit 1; }
  [[ $said == *"$words"* ]] || { echo "new-kernel $*: '$words' is not in: $said" >&2; exit 1; }
  [ "$(state)" = "$before" ] || { echo "new-kernel $*: something was written" >&2; exit 1; }
}
into=(--into "$work/checkout")
refused 2 "no name was given" "${into[@]}"
for name in Thing 2d thing- a__b _a a_ 'a b' ../a; do refused 2 "is not a lower-case identifier" "$name" "${into[@]}"; done
refused 2 "is a word of C++" union "${into[@]}"
refused 2 "40 are allowed" a_name_that_is_longer_than_any_kernel_needs_one "${into[@]}"
refused 2 "two names were given" one two "${into[@]}"
refused 2 "unknown flag '--force'" one --force "${into[@]}"
refused 2 "--into needs a folder" one --into
refused 2 "is not a checkout" one --into "$work/empty"
refused 2 "is not a checkout" one --into "$work/nowhere"
refused 1 "there.md exists" there "${into[@]}"
refused 1 "there is a kernel 'taken' already" taken "${into[@]}"
refused 1 "there is a kernel 'taken_f32' already" taken_f32 "${into[@]}"
refused 1 "hyper/include/yolk/system.hpp. Choose another name" system "${into[@]}"
refused 1 "device.hpp declares one of them" device "${into[@]}"

# Where it cannot go on, what it wrote by then goes again: a file is in the way of the shader's folder.
: >"$work/checkout/shaders/one"
"$tool" one "${into[@]}" >/dev/null 2>&1 && { echo "new-kernel made a folder where there is a file" >&2; exit 1; }
[ "$(find "$work/checkout" -type f -name 'one*')" = "$work/checkout/shaders/one" ] || { echo "new-kernel left files behind" >&2; exit 1; }
! grep -q one "$work/checkout/shaders/kernels.cmake" "$work/checkout/docs/kernels/README.md" || { echo "new-kernel left a line behind" >&2; exit 1; }
rm "$work/checkout/shaders/one"

# And what is good is made, once.
"$tool" one "${into[@]}" >/dev/null
[ "$(find "$work/checkout" -name 'one.*' | wc -l)" -eq 7 ] || { echo "new-kernel did not make seven files" >&2; exit 1; }
[ "$(grep -c '^yolk_kernel(one FAMILY one SOURCE one/one.comp)$' "$work/checkout/shaders/kernels.cmake")" -eq 1 ]
grep -qxF '| [one](one.md) | `count` | P |' "$work/checkout/docs/kernels/README.md"
[ "$(find "$work/checkout" -name '.new-kernel*' | wc -l)" -eq 0 ] || { echo "new-kernel left its folder" >&2; exit 1; }
"$tool" one "${into[@]}" >/dev/null 2>&1 && { echo "new-kernel made a kernel twice" >&2; exit 1; }
"$tool" --help | grep -q 'tools/new-kernel NAME' || { echo "--help does not say how it is called" >&2; exit 1; }
