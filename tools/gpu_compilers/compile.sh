# What the compilers of GPUs make of plans, and the verdict on it; sourced by tools/gpu-check.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder, root and yolk

# inspect_target TARGET FILE ARGUMENT...: what `yolk inspect --json ARGUMENT...` prints. What was refused and what is missing is
# judge.py's business.
inspect_target() {
  local target=$1 file=$2 begun=$SECONDS
  shift 2
  on_target "$target" "$yolk" inspect --json "$@" >"$file.part" 2>"$gpu_folder/$target.log" || tail -n 3 "$gpu_folder/$target.log" >&2
  mv "$file.part" "$file"
  say "$target: $(grep -c '"kernel"' "$file") pipelines, $((SECONDS - begun)) s"
}

# compile [--all] [--write] [TARGET]...
compile() {
  local all='' write='' targets=() target files=() failed=0
  while [ $# -gt 0 ]; do
    case $1 in
      --all) all=1 ;;
      --write) write=1 ;;
      -*) die "unknown argument '$1' of --compile; there are --all and --write" 2 ;;
      *) [[ " ${gpu_targets[*]} " == *" $1 "* ]] || die "there is no target '$1'; there are ${gpu_targets[*]}" 2
         targets+=("$1") ;;
    esac
    shift
  done
  [ -z "$write" ] || [ "${#targets[@]}" -eq 0 ] || die "--write needs all targets; given: ${targets[*]}" 2
  [ "${#targets[@]}" -gt 0 ] || targets=("${gpu_targets[@]}")
  gpu_fetch
  find_yolk
  for target in "${targets[@]}"; do
    inspect_target "$target" "$gpu_folder/$target.jsonl" --shapes "$root/tools/gpu_compilers/shapes"
    files+=("$target=$gpu_folder/$target.jsonl")
  done
  [ -z "$write" ] || write_page "${files[@]}"
  printf 'Mesa %s, fetched\n' "$(gpu_mesa)"
  judge "${files[@]}" || failed=1
  [ -z "$all" ] || compile_all "${targets[@]}" || failed=1
  [ "$failed" -eq 0 ] || die "the compilers of GPUs found something; what they said: $gpu_folder/TARGET.jsonl, errors in TARGET.log"
}

# Every configuration of the check cases, which are small: only a refusal is a fault of theirs.
compile_all() {
  local target files=()
  for target in "$@"; do
    inspect_target "$target" "$gpu_folder/$target.all.jsonl" --cases --all
    files+=("$target=$gpu_folder/$target.all.jsonl")
  done
  "$root/tools/gpu_compilers/judge.py" --refusals "${files[@]}"
}

judge() {
  "$root/tools/gpu_compilers/judge.py" --shapes "$root/tools/gpu_compilers/shapes" --reasons "$root/tools/gpu_compilers/reasons" "$@"
}

write_page() {
  "$root/tools/gpu_compilers/write_page.py" --mesa "$(gpu_mesa)" --shapes "$root/tools/gpu_compilers/shapes" --before "$root/tools/gpu_compilers/before.csv" \
    --reasons "$root/tools/gpu_compilers/reasons" --out "$root/docs/gpu_compilers.md" "$@" || die "docs/gpu_compilers.md was not written"
  say "wrote docs/gpu_compilers.md"
}
