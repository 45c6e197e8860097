#!/usr/bin/env bash
# Build steps of a development tree, which the Makefile calls. A step does nothing if its stamp file is
# newer than its inputs, so two `make` commands in one tree do not repeat a step.
#
#   develop.sh venv PYTHON STAMP            create .venv
#   develop.sh pip LOCKFILE STAMP           install the packages of a lock file
#   develop.sh engine PROFILE               build the engine into python/headway/
#   develop.sh engine-guided                the same, optimized for what it did in runs that it makes
#   develop.sh cargo ARGUMENT...            run cargo
#   develop.sh link STAMP                   make `import headway` and the command work in .venv
#
# Errors that a user can fix end with one line and exit status 2. Logs are in target/.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p target

fail() {
	echo "$*" >&2
	exit 2
}

wait_for_lock() { # NAME: waits while another make does the same step
	command -v flock >/dev/null || return 0
	exec 9>"target/.$1.lock"
	flock --nonblock 9 && return
	echo "waiting for another make that builds in this tree" >&2
	flock 9
}

is_newer() { # STAMP INPUT...
	local stamp=$1 input
	shift
	[ -e "$stamp" ] || return 1
	for input; do [ ! "$input" -nt "$stamp" ] || return 1; done
}

create_venv() { # PYTHON STAMP
	command -v "$1" >/dev/null || fail "Headway needs Python 3.11 or later: $1 is not installed"
	"$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		fail "Headway needs Python 3.11 or later: $1 is $("$1" --version 2>&1); set PYTHON=python3.11"
	"$1" -c 'import ensurepip, venv' 2>/dev/null ||
		fail "Headway needs Python's venv module (Debian: apt-get install python3-venv)"
	wait_for_lock venv
	[ ! -e "$2" ] || return 0
	"$1" -m venv .venv >target/venv.log 2>&1 || fail "python -m venv failed: $(tail -n 1 target/venv.log)"
	touch "$2"
}

install_packages() { # LOCKFILE STAMP
	wait_for_lock venv
	! is_newer "$2" "$1" || return 0
	echo "installing the packages of $1"
	.venv/bin/python -m pip --disable-pip-version-check --no-input --retries 2 install \
		--quiet --requirement "$1" >target/pip.log 2>&1 ||
		{
			! grep -qE 'NewConnectionError|ConnectTimeout|ProxyError|ReadTimeout' target/pip.log ||
				fail "pip cannot download the packages of $1. Check the network and pip's settings;" \
					"the log is target/pip.log."
			fail "pip cannot install $1: $(grep '^ERROR' target/pip.log | tail -n 1); the log is target/pip.log."
		}
	touch "$2"
}

# A build and the metadata of the package both need cargo with a writable home folder. If cargo's home
# folder is read-only, another one is used, with the settings of the first.
need_cargo() {
	command -v cargo >/dev/null || fail "Headway needs Rust 1.85 or later: cargo is not installed (https://rustup.rs)"
	local version
	version=$(cargo --version 2>/dev/null | sed 's/^cargo \([0-9.]*\).*/\1/')
	[ "$(printf '1.85\n%s\n' "$version" | sort --version-sort | head -n 1)" = 1.85 ] ||
		fail "Headway needs Rust 1.85 or later: cargo is $version (rustup update)"
	local home=${CARGO_HOME:-$HOME/.cargo}
	if ! { mkdir -p "$home" && [ -w "$home" ]; } 2>/dev/null; then
		export CARGO_HOME=$PWD/target/cargo-home
		mkdir -p "$CARGO_HOME"
		[ ! -e "$home/config.toml" ] || cp "$home/config.toml" "$CARGO_HOME/"
	fi
}

run_cargo() { # ARGUMENT...
	if ! cargo "$@" 2>target/cargo.log; then
		! grep -qiE 'failed to (download|get|fetch|query)|could not resolve|spurious network' target/cargo.log ||
			fail "cargo cannot download crates. Check the network and cargo's settings; the log is target/cargo.log."
		cat target/cargo.log >&2
		exit 1
	fi
	cat target/cargo.log >&2
}

build_engine() { # PROFILE
	command -v "${CC:-cc}" >/dev/null ||
		fail "Headway needs a C compiler: ${CC:-cc} is not installed (Debian: apt-get install gcc)"
	need_cargo
	wait_for_lock engine
	# The profile dev is the one of Rust's tests. Cargo unifies the features of the packages that it
	# builds, so this step builds the same packages as `cargo test`, and nothing is built twice.
	local packages=(-p headway-python) folder=$1
	if [ "$1" = dev ]; then
		packages=(--lib)
		folder=debug
	fi
	echo "building the engine (profile $1)"
	run_cargo build --quiet --locked --profile "$1" "${packages[@]}"
	install -m 755 "target/$folder/lib_engine.so" python/headway/.engine.new
	mv python/headway/.engine.new python/headway/_engine.abi3.so
	# Each of these files means that the present engine is at least as optimized as this profile.
	rm -f target/.engine-*
	case $1 in
	release) touch target/.engine-release target/.engine-quick target/.engine-dev ;;
	quick) touch target/.engine-quick target/.engine-dev ;;
	*) touch target/.engine-dev ;;
	esac
}

# Builds the engine with counters, simulates with it, and builds it again with what they have counted.
build_guided_engine() {
	local host profdata flows
	need_cargo
	host=$(rustc -vV | sed -n 's/^host: //p')
	profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
	[ -x "$profdata" ] || fail "a profile-guided build needs llvm-profdata: rustup component add llvm-tools"
	wait_for_lock engine
	local build=(build --quiet --locked --release -p headway-python --target "$host" --target-dir target/guided)
	rm -rf target/guided/counts target/.engine-*
	echo "building the engine with counters"
	RUSTFLAGS="-Cprofile-generate=$PWD/target/guided/counts" run_cargo "${build[@]}"
	install -m 755 "target/guided/$host/release/lib_engine.so" python/headway/_engine.abi3.so
	for flows in 1xcubic 10xcubic 100xreno 1000xcubic 5xbbr,5xcubic; do
		.venv/bin/headway try --flows "$flows" --rate 100Mbit/s --duration 20s >/dev/null
	done
	"$profdata" merge --output target/guided/counts.profdata target/guided/counts
	echo "building the engine from the counts"
	RUSTFLAGS="-Cprofile-use=$PWD/target/guided/counts.profdata" run_cargo "${build[@]}"
	install -m 755 "target/guided/$host/release/lib_engine.so" python/headway/.engine.new
	mv python/headway/.engine.new python/headway/_engine.abi3.so
	touch target/.engine-release target/.engine-quick target/.engine-dev
}

# Installs Headway editable: the metadata, a path and a command. pip would build the engine again.
link_package() { # STAMP
	wait_for_lock venv
	! is_newer "$1" pyproject.toml Cargo.toml || return 0
	need_cargo
	local site
	site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	rm -rf "$site"/headway-*.dist-info "$site"/headway.pth
	.venv/bin/maturin pep517 write-dist-info --metadata-directory "$site" \
		--interpreter .venv/bin/python >/dev/null 2>target/link.log || fail "maturin failed: $(tail -n 1 target/link.log)"
	echo "$PWD/python" >"$site/headway.pth"
	.venv/bin/python - <<'END'
from pip._vendor.distlib.scripts import ScriptMaker
maker = ScriptMaker(None, ".venv/bin")
maker.variants, maker.clobber = {""}, True
maker.make("headway = headway.cli:main")
END
	touch "$1"
}

case $1 in
venv) create_venv "$2" "$3" ;;
pip) install_packages "$2" "$3" ;;
engine) build_engine "$2" ;;
engine-guided) build_guided_engine ;;
link) link_package "$2" ;;
cargo)
	need_cargo
	shift
	exec cargo "$@"
	;;
*) fail "develop.sh: $1 is not a step; allowed are venv, pip, engine, engine-guided, link, cargo" ;;
esac
