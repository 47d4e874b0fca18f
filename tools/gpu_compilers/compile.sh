# What the compilers of GPUs make of plans, and the verdict on it; sourced by tools/gpu-check.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder, root and yolk

# inspect_on TARGET ARGUMENT...: errors are told, and kept in TARGET.log.
inspect_on() {
  local target=$1 log=$gpu_folder/$1.log
  shift
  on_target "$target" "$yolk" inspect --json "$@" 2>"$log.part" || tail -n 3 "$log.part" >&2
  cat "$log.part" >>"$log"
  rm "$log.part"
}

# inspect_target TARGET FILE: what `yolk inspect --json` says of the list of shapes: of all default plans, then of each shape that has
# knobs, behind a line that begins it. What was refused and what is missing is judge.py's business.
inspect_target() {
  local target=$1 file=$2 begun=$SECONDS shapes=$root/tools/gpu_compilers/shapes line knob where
  "$root/tools/gpu_compilers/shapes.py" plain "$shapes" >"$gpu_folder/shapes" || exit 2
  : >"$gpu_folder/$target.log"
  inspect_on "$target" --shapes "$gpu_folder/shapes" >"$file.part"
  while IFS= read -r line; do
    where=()
    for knob in ${line#*| }; do where+=(--where "$knob"); done
    printf '{"event": "begin"}\n' >>"$file.part"
    inspect_on "$target" "${line% | *}" "${where[@]}" >>"$file.part" </dev/null
  done < <("$root/tools/gpu_compilers/shapes.py" chosen "$shapes" "$target")
  mv "$file.part" "$file"
  say "$target: $(grep -c '"kernel"' "$file") pipelines, $((SECONDS - begun)) s"
}

# compile [--all [--share SHARE] [--seed SEED]] [--write] [TARGET]...
compile() {
  local all='' write='' share='' seed='' targets=() target files=() failed=0
  while [ $# -gt 0 ]; do
    case $1 in
      --all) all=1 ;;
      --write) write=1 ;;
      --share|--seed)
        [ $# -gt 1 ] || die "$1 needs a number after it" 2
        if [ "$1" = --share ]; then share=$2; else seed=$2; fi
        shift ;;
      -*) die "unknown argument '$1' of --compile; there are --all, --share, --seed and --write" 2 ;;
      *) [[ " ${gpu_targets[*]} " == *" $1 "* ]] || die "there is no target '$1'; there are ${gpu_targets[*]}" 2
         targets+=("$1") ;;
    esac
    shift
  done
  [ -n "$all" ] || [ -z "$share$seed" ] || die "--share and --seed go with --all" 2
  [[ ${seed:=1} =~ ^[0-9]+$ ]] || die "the seed is '$seed'; it is a whole number" 2
  "$root/tools/gpu_compilers/coverage.py" rounds "${share:=1}" >/dev/null || exit 2
  [ -z "$write" ] || [ "${#targets[@]}" -eq 0 ] || die "--write needs all targets; given: ${targets[*]}" 2
  [ "${#targets[@]}" -gt 0 ] || targets=("${gpu_targets[@]}")
  gpu_fetch
  find_yolk
  for target in "${targets[@]}"; do
    inspect_target "$target" "$gpu_folder/$target.jsonl"
    files+=("$target=$gpu_folder/$target.jsonl")
  done
  printf 'Mesa %s, fetched\n' "$(gpu_mesa)"
  judge "${files[@]}" || failed=1
  [ -z "$all" ] || compile_all "$share" "$seed" "${targets[@]}" || failed=1
  [ "$failed" -eq 0 ] ||
    die "the compilers of GPUs found something${write:+, so that the page was not written}; what they said: $gpu_folder/TARGET.jsonl, errors in TARGET.log"
  [ -z "$write" ] || write_page "${files[@]}"
}

kernels_of_yolk() { "$root/tools/gpu_compilers/kernels_hash.py" "$yolk"; }

# The folder of what a target took.
all_of() { printf '%s/all/%s/%s' "$gpu_folder" "$(gpu_mesa)" "$1"; }

# Builds the layer of crash_guard.c, which drivers.sh loads.
make_crash_guard() {
  mkdir -p "$gpu_folder/guard"
  cc -std=c17 -O2 -shared -fPIC -fvisibility=hidden -o "$gpu_folder/guard/libcrash_guard.so" "$root/tools/gpu_compilers/crash_guard.c" ||
    die "crash_guard.c was not compiled; --all needs a C compiler and Vulkan's headers: apt-get install gcc libvulkan-dev" 2
  printf '{"file_format_version": "1.2.0", "layer": {"name": "VK_LAYER_YOLK_crash_guard", "type": "INSTANCE", %s, %s, %s, %s}}\n' \
    '"library_path": "./libcrash_guard.so"' '"api_version": "1.3.239"' '"implementation_version": "1"' \
    '"description": "Refuses pipelines that crashed the driver"' >"$gpu_folder/guard/crash_guard.json"
}

# compile_share TARGET SHARE SEED KERNELS RUN: once more behind each pipeline that crashed the driver, which is told as refused then.
# What was refused and what is missing is the report's business.
compile_share() {
  local target=$1 share=$2 seed=$3 kernels=$4 run=$5 coverage=$root/tools/gpu_compilers/coverage.py folder codes
  folder=$(all_of "$target")
  while [ -z "$interrupted" ]; do
    "$coverage" known "$folder"
    codes=(0 0)
    YOLK_CRASH_GUARD=$folder on_target "$target" "$yolk" inspect --json --cases --all --share "$share" --seed "$seed" \
      --known "$folder/known.txt" 2>"$gpu_folder/$target.log" |
      "$coverage" keep "$folder" "$target" "$share" "$seed" "$kernels" "$run" || codes=("${PIPESTATUS[@]}")
    case ${codes[0]} in
      0|1|130) return 0 ;;
      # SIGILL, SIGABRT, SIGBUS, SIGFPE and SIGSEGV. Who kills yolk in another way does not judge the driver.
      132|134|135|136|139) "$coverage" crashed "$folder" "$target" "${codes[0]}" "$kernels" || return 0 ;;
      *) say "$target: yolk inspect ended with ${codes[0]}: $(tail -n 3 "$gpu_folder/$target.log")"; return 0 ;;
    esac
  done
}

# compile_all SHARE SEED TARGET...: configurations of the check cases, which are small: only a refusal is a fault of theirs.
# What a driver took is remembered, so that an interrupted run goes on, and small shares of all targets come first.
compile_all() {
  local share=$1 seed=$2 coverage=$root/tools/gpu_compilers/coverage.py run=$(date +%s)-$$ round target kernels rounds folders=() interrupted='' failed=0
  shift 2
  kernels=$(kernels_of_yolk) || return 1
  make_crash_guard
  mapfile -t rounds < <("$coverage" rounds "$share")
  trap 'interrupted=1' INT
  for round in "${rounds[@]}"; do
    for target in "$@"; do compile_share "$target" "$round" "$seed" "$kernels" "$run"; done
  done
  trap - INT
  for target in "$@"; do folders+=("$target=$(all_of "$target")"); done
  "$coverage" report "$round" "$seed" "$kernels" "$run" "${folders[@]}" || failed=1
  [ -z "$interrupted" ] || die "interrupted; the same command goes on from here" 130
  return $failed
}

# What --all has compiled until now.
write_coverage() {
  local target kernels folders=()
  kernels=$(kernels_of_yolk) || return 1
  for target in "${gpu_targets[@]}"; do folders+=("$target=$(all_of "$target")"); done
  "$root/tools/gpu_compilers/coverage.py" table "$root/tools/gpu_compilers/coverage.csv" "$(gpu_mesa)" "$kernels" "${folders[@]}"
}

judge() {
  local some=()
  [ $# -eq "${#gpu_targets[@]}" ] || some=(--some)
  "$root/tools/gpu_compilers/judge.py" --shapes "$root/tools/gpu_compilers/shapes" --reasons "$root/tools/gpu_compilers/reasons" \
    "${some[@]}" "$@"
}

write_page() {
  local here=$root/tools/gpu_compilers
  write_coverage || die "tools/gpu_compilers/coverage.csv was not written"
  "$here/write_page.py" --mesa "$(gpu_mesa)" --kernels "$(kernels_of_yolk)" --date "$(date +%F)" --shapes "$here/shapes" --before "$here/before.csv" \
    --coverage "$here/coverage.csv" --plans "$here/loops" --loops-before "$here/loops_before.csv" --loops "$here/loops.csv" \
    --figures "$here/figures.csv" --out "$root/docs/gpu_compilers.md" "$@" || die "docs/gpu_compilers.md was not written"
  say "wrote tools/gpu_compilers/figures.csv and docs/gpu_compilers.md"
}
