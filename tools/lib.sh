# Shared by tools/run, tools/test and tools/check; source it. Everything here writes to standard error: standard output belongs to
# what is run afterwards.
# shellcheck shell=bash
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s: %s\n' "${tool:-yolk}" "$*" >&2; }
die() { say "error: $1"; exit "${2:-1}"; }

# packages_of SECTION...: the names in those sections of tools/packages.
packages_of() {
  local line section='' wanted=" $* "
  while read -r line; do
    line=${line%%#*}; line=${line//[[:space:]]/}
    case $line in
      '') ;;
      *:) section=${line%:} ;;
      *) [[ $wanted == *" $section "* ]] && printf '%s\n' "$line" ;;
    esac
  done <"$root/tools/packages"
  return 0
}

# linked_in_packages: those whose code is in the program itself.
linked_in_packages() { packages_of run | grep -E -- '-dev$|spirv-tools'; }

# missing_packages NAME...: those that dpkg does not know as installed.
missing_packages() {
  local installed name
  installed=" $(dpkg-query -W -f '${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
  for name in "$@"; do
    [[ $installed == *" $name=installed "* ]] || printf '%s\n' "$name"
  done
}

# need_packages SECTION...: installs what is missing and nothing else. Asked of dpkg each time (10 ms), so nothing can go stale.
need_packages() {
  local wanted missing log
  mapfile -t wanted < <(packages_of "$@")
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    [ -e "$root/build/.packages-told" ] && return 0
    say "no apt-get here, so nothing is installed. Needed, by their names in Debian 12: ${wanted[*]}"
    mkdir -p "$root/build" && : >"$root/build/.packages-told"
    return 0
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ "${#missing[@]}" -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing and there is no sudo; install them as root: apt-get install ${missing[*]}" 2
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  mkdir -p "$root/build"
  log=$root/build/apt.log
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
       >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    die "the packages could not be installed (the whole log: $log)"
  fi
}

# show_progress FOLDER: ninja's lines from standard input; one line that rewrites itself on a terminal, else a line for every
# tenth of the steps.
show_progress() {
  local line told=-1
  local begun=$SECONDS
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] && ${BASH_REMATCH[1]} -gt 0 ]] || continue
    local step=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]}
    if [ -t 2 ]; then
      printf '\r\033[K%.100s' "$line" >&2
    else
      [ "$told" -ge 0 ] || say "building in $1, $steps steps"
      if [ $((step * 10 / steps)) -gt "$told" ]; then
        told=$((step * 10 / steps))
        [ "$told" -eq 0 ] || say "built $((told * 10)) % ($step of $steps steps, $((SECONDS - begun)) s)"
      fi
    fi
    told=$((told < 0 ? 0 : told))
  done
  if [ "$told" -ge 0 ] && [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

# build PRESET TARGET...: configures where needed and builds in build/PRESET, one at a time per checkout.
build() {
  local preset=$1 folder=$root/build/$1
  shift
  # It builds the Python package, too.
  [ "$preset" != dev ] || "$root/tools/python-venv"
  mkdir -p "$folder"
  exec 9>"$folder/.lock"
  if command -v flock >/dev/null; then
    flock -n 9 || { say "waiting for another build in $folder"; flock 9; }
  fi
  # A checkout that was moved or copied has a cache that names the old place.
  if [ -e "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles" "$folder/build.ninja"
  fi
  # Where ccache is installed, another checkout's objects serve here, too: paths below the checkout do not count.
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  fi
  if [ ! -e "$folder/build.ninja" ] || [ "$root/CMakePresets.json" -nt "$folder/.configured" ]; then
    (cd "$root" && cmake --preset "$preset") >"$folder/configure.log" 2>&1 9>&- ||
      { tail -n 30 "$folder/configure.log" >&2; die "configuring failed (the whole log: $folder/configure.log)"; }
    touch "$folder/.configured"
  fi
  if ! ninja -C "$folder" "$@" 2>&1 9>&- | tee "$folder/build.log" | show_progress "$folder"; then
    grep -v '^\[[0-9]*/[0-9]*\] ' "$folder/build.log" | tail -n 40 >&2
    die "building failed (the whole log: $folder/build.log)"
  fi
  exec 9>&-
}
