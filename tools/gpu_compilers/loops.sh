# Main loops of the plans in tools/gpu_compilers/loops; sourced by tools/gpu-check.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder, root and yolk

# A GPU of each generation whose compiler's assembly count_loop.py reads.
loop_targets=(navi31 navi21 vega10 ga102)

# loops_of_plans [--write]
loops_of_plans() {
  local plans=$root/tools/gpu_compilers/loops loops=$root/tools/gpu_compilers/loops.py folder=$gpu_folder/loops target shape number write=''
  local counted=$gpu_folder/loops.csv
  case $* in '') ;; --write) write=1 ;; *) die "unknown argument '$*' of --loops-of-plans; there is --write" 2 ;; esac
  gpu_fetch
  find_yolk
  rm -rf "$folder"
  for target in "${loop_targets[@]}"; do
    number=0
    while IFS= read -r shape; do
      mkdir -p "$folder/$target/$number"
      on_target "$target" "$yolk" inspect --json "$shape" --ir "$folder/$target/$number" >"$folder/$target/$number/lines.jsonl" \
        2>"$gpu_folder/$target.log" </dev/null || { tail -n 3 "$gpu_folder/$target.log" >&2; die "$target: '$shape' was not inspected"; }
      number=$((number + 1))
    done < <("$loops" shapes "$plans")
  done
  [ -z "$write" ] || counted=$root/tools/gpu_compilers/loops.csv
  "$loops" count "$plans" "$folder" "$counted" "kernels $(kernels_of_yolk), compiled by Mesa $(gpu_mesa) on $(date +%F)"
  "$loops" table "$plans" "$root/tools/gpu_compilers/loops_before.csv" "$counted"
  [ -z "$write" ] || "$loops" page "$plans" "$root/tools/gpu_compilers/loops_before.csv" "$counted" "$root/docs/gpu_compilers.md"
}
