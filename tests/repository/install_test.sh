#!/usr/bin/env bash
# `cmake --install` makes a tree that may be moved, against which a program outside of the sources is built with CMake and with
# pkg-config. Another version, and a component that is not there, are refused.
#   install_test.sh ROOT BUILD COMPILER
root=$1 build=$2 compiler=$3
fail() { printf '%s\n' "$*" >&2; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
case $work/ in "$root"/*) fail "$work is among the sources: set TMPDIR to another folder" ;; esac
export CCACHE_DISABLE=1

cmake --install "$build" --prefix "$work/first" >"$work/said.txt" 2>&1 || fail "installing failed: $(tail -n 5 "$work/said.txt")"
mkdir "$work/an other place"
mv "$work/first" "$work/an other place/yolk"
tree=$work/an\ other\ place/yolk
for file in bin/yolk libexec/yolk/yolk-worker share/doc/yolk/LICENSE share/doc/yolk/licences/libshaderc-dev; do
  [ -s "$tree/$file" ] || fail "$file is not installed"
done
"$tree/bin/yolk" --version >"$work/said.txt" || fail "the installed yolk does not start"
! grep -rIlF -e "$root" -e "$work/first" "$tree" || fail "these files name the sources or the place of installation"

# Users' headers, all of them; the others are compared with what a compiler reads, below.
(cd "$root" && ls -d ./*/include/yolk/*.hpp | sed 's,.*/include/,,') | sort >"$work/expected.txt"
(cd "$tree/include" && ls -d yolk/*.hpp) | sort >"$work/headers.txt"
diff "$work/expected.txt" "$work/headers.txt" >&2 || fail "the installed headers (>) are not those for users (<)"

cp -r "$root/tests/install" "$work/consumer"
# consumer FOLDER ARGUMENT...: configures it against the tree.
consumer() {
  local folder=$work/$1
  shift
  cmake -G Ninja -S "$work/consumer" -B "$folder" "-DCMAKE_PREFIX_PATH=$tree" "-DCMAKE_CXX_COMPILER=$compiler" \
    -DYOLK_WANTED_VERSION=0.1 "-DYOLK_WANTED_COMPONENTS=cli;hyper" "$@" >"$work/said.txt" 2>&1
}
# refused TEXT FOLDER ARGUMENT...
refused() {
  local expected=$1
  shift
  ! consumer "$@" || fail "$*: it was found"
  tr -s ' \n' ' ' <"$work/said.txt" | grep -qF "$expected" || fail "$*: not '$expected', but $(cat "$work/said.txt")"
}
consumer built "-DEVERY_HEADER=$tree/include" || fail "the package is not found: $(cat "$work/said.txt")"
cmake --build "$work/built" >"$work/said.txt" 2>&1 || fail "the program is not built: $(tail -n 20 "$work/said.txt")"
[ "$("$work/built/consumer")" = 25 ] || fail "the program does not print 25, but: $("$work/built/consumer" 2>&1)"
ninja -C "$work/built" -t deps >"$work/deps.txt"
grep -qF "$tree/include/yolk/system.hpp" "$work/deps.txt" || fail "the installed headers were not read"
sed -n "s,.*$tree/include/\(yolk/.*/.*\),\1,p" "$work/deps.txt" | sort -u >"$work/expected.txt"
(cd "$tree/include" && find yolk -mindepth 2 -type f) | sort >"$work/headers.txt"
[ -s "$work/expected.txt" ] || fail "users' headers include none of yolk/internal/, or the compiler does not say so"
diff "$work/expected.txt" "$work/headers.txt" >&2 || fail "of yolk/internal/ not what users' headers include (<) is installed, but (>)"
! grep -F "$root/" "$work/deps.txt" || fail "headers of the sources were read"

export PKG_CONFIG_PATH=$tree/lib/pkgconfig
flags=$(pkg-config --cflags --libs 'yolk-hyper >= 0.1') || fail "pkg-config does not find yolk-hyper"
eval "\"$compiler\" -std=c++20 \"\$work/consumer/consumer.cpp\" -o \"\$work/by_pkg_config\" $flags" >"$work/said.txt" 2>&1 ||
  fail "the program is not built with pkg-config: $(tail -n 20 "$work/said.txt")"
[ "$("$work/by_pkg_config")" = 25 ] || fail "built with pkg-config it does not print 25"
! objdump -p "$work/by_pkg_config" | grep -q 'NEEDED.*libmpi' || fail "a program without train is linked with MPI"
for part in context train; do
  ! pkg-config --libs "yolk-$part" | grep -E -e '-l(sqlite3|curl|z|yolk_autotune|yolk_oracle)( |$)' ||
    fail "yolk-$part.pc names what only tuning and systems need"
done
flags=$(pkg-config --libs yolk)
grep -q -e '-lsqlite3' <<<"$flags" || fail "yolk.pc does not name SQLite: the check above finds nothing"
for archive in "$tree"/lib/libyolk_*.a; do
  archive=${archive##*/lib}
  grep -qw -e "-l${archive%.a}" <<<"$flags" || fail "yolk.pc does not name $archive"
done

# Other versions, in both directions; components that are not there; dependencies that are not.
for version in 0.2 0.0 1.0 0.1.1; do
  refused "compatible with requested version \"$version\"" other -DYOLK_WANTED_VERSION=$version
  grep -qF 'yolk-config.cmake, version: 0.1.0' "$work/said.txt" || fail "the version that is there is not said: $(cat "$work/said.txt")"
done
refused 'This Yolk was built without: python, testing. Its components are core, shaders, runtime,' other "-DYOLK_WANTED_COMPONENTS=hyper;python;testing"
refused 'SQLite3' other -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON
if grep -q 'MPI::MPI_C' "$tree/lib/cmake/yolk/yolk-train-targets.cmake"; then
  sed -i 's/LANGUAGES C CXX/LANGUAGES CXX/' "$work/consumer/CMakeLists.txt"
  refused 'say project(... LANGUAGES C CXX)' without_c
fi
# Places where an installed tree would not work.
for place in LIBDIR=/usr/lib LIBEXECDIR=lib BINDIR=bin/tools; do
  ! cmake -S "$root" -B "$work/places" "-DCMAKE_INSTALL_$place" >"$work/said.txt" 2>&1 || fail "CMAKE_INSTALL_$place is taken"
  tr -s ' \n' ' ' <"$work/said.txt" | grep -qE 'an installed Yolk may be moved|yolk looks for yolk-worker in ../libexec/yolk' ||
    fail "CMAKE_INSTALL_$place: $(cat "$work/said.txt")"
  rm -rf "$work/places"
done
! pkg-config --exists 'yolk-hyper >= 0.2' || fail "pkg-config takes 0.1.0 for 0.2"
! pkg-config --exists yolk-python || fail "pkg-config finds a module that was not built"
