#!/usr/bin/env bash
# Builds a release: wheel, sdist, Debian package and archive of headwayctl, SHA256SUMS.
#   dist.sh PYTHON [FOLDER]      PYTHON has maturin. FOLDER is target/dist by default, which is emptied
set -euo pipefail
command -v cargo >/dev/null || {
	echo "a release needs Rust 1.85 or later: cargo is not installed (https://rustup.rs)" >&2
	exit 2
}
python=$(realpath -s "$1")
cd "$(dirname "$(realpath "$0")")/.."
if [ -n "${2:-}" ]; then out=$2; else out=$PWD/target/dist && rm -rf "$out" && mkdir -p "$out"; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" packaging/backend.py "$out" >"$log" 2>&1 || { cat "$log" >&2 && exit 1; }
compgen -G "$out/*-manylinux_2_*.whl" >/dev/null || {
	echo "the wheel fits no manylinux tag: $(cd "$out" && ls ./*.whl)" >&2
	exit 1
}

missing=() clang=${HEADWAY_CLANG:-clang-19}
command -v "$clang" >/dev/null || missing+=("$clang")
for library in libbpf libelf zlib; do
	pkg-config --exists $library 2>/dev/null || missing+=($library)
done
if [ ${#missing[@]} -eq 0 ]; then
	cargo build --release --locked --quiet -p headway-kernel
	packaging/build.sh target/release/headwayctl "$out" >/dev/null
else
	echo "headwayctl's archive and .deb are left out: ${missing[*]} missing (docs/packaging.md)" >&2
fi
cd "$out"
sha256sum -- *.* >SHA256SUMS
ls -l
