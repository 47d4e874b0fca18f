# Fetches Mesa's newest drivers from Debian into a folder; sourced by tools/gpu-check after tools/lib.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # its user sets gpu_folder

# An apt with settings, lists and caches of its own: nothing of this machine's changes, and since nothing counts as installed,
# every library comes along, libc too. Root is not needed.
gpu_suite=trixie
# The drivers, the null devices that they compile for, and a validation layer that knows what the drivers offer.
gpu_packages=("mesa-vulkan-drivers/$gpu_suite-backports" "mesa-drm-shim/$gpu_suite-backports" "vulkan-validationlayers/$gpu_suite")

gpu_apt() { DEBIAN_FRONTEND=noninteractive apt-get -c "$gpu_folder/apt/apt.conf" "$@"; }

# The mirror that this machine's own release comes from.
gpu_mirror() {
  local codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v codename="$codename" '($1 == codename || $1 == "stable") && $2 == "main" && !found++ { print $3 }'
}

gpu_apt_settings() {
  mkdir -p "$gpu_folder"/apt/{sources,state/lists/partial,cache/archives/partial}
  : >"$gpu_folder/apt/status"
  # The hooks of this machine's settings, which are read first, belong to its own packages.
  cat >"$gpu_folder/apt/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "$gpu_folder/apt/state";
Dir::State::status "$gpu_folder/apt/status";
Dir::Cache "$gpu_folder/apt/cache";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$gpu_folder/apt/sources";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Architecture "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
END
}

# Signed-By: a list whose signature is not of Debian's keyring fails, and so does the whole run.
gpu_lists() {
  local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keyring" ] || die "$keyring is missing: apt-get install debian-archive-keyring" 2
  mirror=$(gpu_mirror)
  [ -n "$mirror" ] || die "this machine's apt sources have no Debian mirror (apt-get indextargets)" 2
  printf 'Types: deb\nURIs: %s\nSuites: %s %s-backports\nComponents: main\nSigned-By: %s\n' \
    "$mirror" "$gpu_suite" "$gpu_suite" "$keyring" >"$gpu_folder/apt/sources/debian.sources"
  say "fetching the package lists of $gpu_suite and $gpu_suite-backports"
  gpu_apt update -qq --error-on=any 2>"$gpu_folder/apt.log" || {
    tail -n 5 "$gpu_folder/apt.log" >&2
    die "the package lists could not be fetched or their signatures not be checked. Without a network this cannot work; with an old keyring: apt-get install debian-archive-keyring"
  }
}

# Unpacks into a folder beside and renames: an interrupted run is seen, and goes on with the packages it has.
gpu_unpack() {
  local package archives=$gpu_folder/apt/cache/archives
  rm -rf "$gpu_folder/root.part" "$gpu_folder/root"
  for package in "$archives"/*.deb; do dpkg -x "$package" "$gpu_folder/root.part"; done
  # shellcheck disable=SC2016  # dpkg's own variables
  for package in "$archives"/*.deb; do dpkg-deb -W --showformat='${Package} ${Version}\n' "$package"; done >"$gpu_folder/packages.part"
  mv "$gpu_folder/root.part" "$gpu_folder/root"
  mv "$gpu_folder/packages.part" "$gpu_folder/packages.txt"
  rm -rf "$gpu_folder/apt"
}

# Whether all packages are there: of an earlier list some may be missing.
gpu_fetched() {
  local package
  [ -s "$gpu_folder/packages.txt" ] || return 1
  for package in "${gpu_packages[@]}"; do grep -q "^${package%/*} " "$gpu_folder/packages.txt" || return 1; done
}

gpu_fetch() {
  [ "$(uname -m)" = x86_64 ] || die "this is $(uname -m); the drivers are packages for x86-64" 2
  gpu_fetched && return
  { command -v apt-get && command -v dpkg-deb; } >/dev/null ||
    die "there is no apt-get here; the drivers come from Debian's packages" 2
  # apt's settings and the loader's options separate lists by them.
  case $gpu_folder in *[[:space:]:\"]*) die "the checkout's path has a space, a colon or a quote, which apt cannot take: $gpu_folder" 2 ;; esac
  gpu_apt_settings
  gpu_lists
  say "fetching ${gpu_packages[*]} with all they need, 90 MB"
  gpu_apt install -qq -y --download-only --no-install-recommends "${gpu_packages[@]}" >"$gpu_folder/apt.log" 2>&1 ||
    { tail -n 5 "$gpu_folder/apt.log" >&2; die "the packages could not be fetched; run it again to go on"; }
  gpu_apt autoclean -qq >/dev/null
  gpu_unpack
}

gpu_mesa() { awk '$1 == "mesa-vulkan-drivers" { print $2 }' "$gpu_folder/packages.txt"; }
