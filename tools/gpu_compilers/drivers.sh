# Starts programs on the drivers that fetch.sh fetched; sourced by tools/gpu-check.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder

# GPUs whose compilers are asked. Each driver finds a null device (mesa-drm-shim), which has no memory and does nothing: the
# compiler is the real one, and what is submitted is done at once, with nothing computed.
gpu_targets=(polaris10 vega10 navi21 navi31 gfx1201 tu102 ga102 m1 adreno740)

# The program needs the libc that came with the drivers, and runs through that libc's loader. /proc/self/exe is the loader, then,
# and what the program starts is on this machine's libc again, where the drivers cannot be loaded.
gpu_libraries=$gpu_folder/root/usr/lib/x86_64-linux-gnu
gpu_loader=$gpu_libraries/ld-linux-x86-64.so.2

# gpu_driver NAME: the file that tells Vulkan's loader of one of the drivers.
gpu_driver() {
  local file=$gpu_folder/$1.json
  printf '{"file_format_version": "1.0.1", "ICD": {"library_path": "%s", "api_version": "1.4.0"}}\n' \
    "$gpu_libraries/libvulkan_$1.so" >"$file"
  printf '%s' "$file"
}

# gpu_worker PROGRAM: a script that starts the yolk-worker of its build through the same loader; nothing where it has none.
gpu_worker() {
  local place worker=
  for place in "${1%/*}" "${1%/*}/../libexec/yolk" "${1%/*}/../../libexec/yolk"; do
    [ -n "$worker" ] || [ ! -x "$place/yolk-worker" ] || worker=$(realpath "$place/yolk-worker")
  done
  [ -n "$worker" ] || return 0
  printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$gpu_loader" "$gpu_libraries" "$worker" >"$gpu_folder/yolk-worker.part"
  chmod +x "$gpu_folder/yolk-worker.part"
  mv "$gpu_folder/yolk-worker.part" "$gpu_folder/yolk-worker"
  printf '%s' "$gpu_folder/yolk-worker"
}

# start_on DRIVER_FILES PRELOADED PROGRAM ARGUMENT...: no caches of this machine, and no layers but the fetched one and, where
# YOLK_CRASH_GUARD is set, that of crash_guard.c.
start_on() {
  local drivers=$1 preloaded=$2 program=$3 layers=()
  shift 3
  [ -z "${YOLK_CRASH_GUARD:-}" ] || layers=(VK_INSTANCE_LAYERS=VK_LAYER_YOLK_crash_guard)
  env -u VK_ICD_FILENAMES -u VK_ADD_DRIVER_FILES -u VK_ADD_LAYER_PATH -u VK_INSTANCE_LAYERS VK_DRIVER_FILES="$drivers" \
    VK_LAYER_PATH="$gpu_folder/root/usr/share/vulkan/explicit_layer.d:$gpu_folder/guard" "${layers[@]}" VK_LOADER_LAYERS_DISABLE='~implicit~' \
    MESA_SHADER_CACHE_DISABLE=true YOLK_CACHE="$gpu_folder/cache" YOLK_WORKER="$(gpu_worker "$program")" \
    "$gpu_loader" --library-path "$gpu_libraries" ${preloaded:+--preload "$preloaded"} --argv0 "$program" "$program" "$@"
}

# on_lavapipe PROGRAM ARGUMENT...: the fetched lavapipe, which executes.
on_lavapipe() { start_on "$(gpu_driver lvp)" '' "$@"; }

# on_target TARGET PROGRAM ARGUMENT...: one of gpu_targets.
on_target() {
  local target=$1 driver shim
  shift
  case $target in
    polaris*|vega*|navi*|gfx*) driver=radeon shim=amdgpu ;;
    tu102|ga102) driver=nouveau shim=nouveau ;;
    m1) driver=asahi shim=asahi ;;
    adreno*) driver=freedreno shim=freedreno ;;
    *) die "there is no target $target; there are ${gpu_targets[*]}" 2 ;;
  esac
  # What each null device is told to be; those of the other drivers are not read.
  local -x AMDGPU_GPU_ID=$target FD_GPU_ID=${target#adreno} NOUVEAU_CHIPSET
  case $target in tu102) NOUVEAU_CHIPSET=162 ;; *) NOUVEAU_CHIPSET=172 ;; esac
  start_on "$(gpu_driver "$driver")" "$gpu_libraries/lib${shim}_noop_drm_shim.so" "$@"
}
