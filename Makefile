# Headway's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
STUDY ?= collateral-damage
OUT ?= results/$(STUDY)

# What the engine is made of; a change to any of it makes `make build` build again.
ENGINE := $(shell find algorithms crates -name target -prune -o \
	\( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name Cargo.toml \) -print) \
	Cargo.toml Cargo.lock pyproject.toml
# C takes the style of algorithms/ wherever it is, C++ its own.
FIND_C = $(shell find $(1) -name target -prune -o \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print)
CLANG_FORMAT = $(BIN)/clang-format --style=file:algorithms/.clang-format $(1) $(call FIND_C,algorithms crates include examples tests) && \
	$(BIN)/clang-format $(1) $(call FIND_C,benchmarks)
# The simulator's path; crates/kernel needs clang and libbpf, see tests/system_packages.sh.
CRATES := --workspace --exclude headway-kernel

.DEFAULT_GOAL := help
.PHONY: help build engine headwayctl demo picture test test-packages test-format test-lint test-rust built-tests \
	test-kernel test-kernel-beside test-kernel-alone test-python test-live test-live-beside test-live-alone \
	package test-package check verdicts verdicts-live format bench bench-controls bench-debian bench-beside bench-peers bench-start bench-try bench-pep profile follow docs mirrors lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.engine $(VENV)/.pages headwayctl ## build everything: .venv/bin/headway and, where it can be, headwayctl beside it

# The kernel part, with its completions and manual. What it needs is not needed by the simulator, so
# its absence is no error. CTL_PROFILE=debug takes the program that Rust's tests have.
CTL_PROFILE ?= release
headwayctl: $(VENV)/.venv $(if $(filter debug,$(CTL_PROFILE)),built-tests)
	@if tests/system_packages.sh --ready; then \
	$(if $(filter debug,$(CTL_PROFILE)),:,cargo build --release --locked --quiet -p headway-kernel) && \
	ln -sf ../../target/$(CTL_PROFILE)/headwayctl $(BIN)/ && $(BIN)/headwayctl pages $(VENV)/share >/dev/null; \
	else echo "headwayctl is left out: it needs clang-19 llvm-19 libbpf-dev libelf-dev zlib1g-dev pkg-config"; fi

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headway needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.deps: requirements.lock $(VENV)/.venv
	$(PIP) --requirement requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.deps
	$(PIP) --requirement requirements-dev.lock
	@touch $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.deps
	$(PIP) --requirement requirements-docs.lock
	@touch $@

$(VENV)/.engine: $(VENV)/.deps $(ENGINE)
	@command -v cargo >/dev/null || { echo "Headway needs Rust 1.85 or later: cargo is missing"; exit 1; }
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --quiet
	@touch $@

engine: ## after a changed line of C or Rust in the simulator: the engine again, in seconds
	@test -e $(VENV)/.engine || { echo "make build comes first"; exit 1; }
	cargo build --profile engine --locked --quiet -p headway-python
	install -m 755 target/engine/lib_engine.so python/headway/_engine.abi3.so

# Completions and the manual of headway, made of its commands.
$(VENV)/.pages: $(VENV)/.engine $(wildcard python/headway/cli/*.py)
	$(BIN)/python -m headway.cli.pages $(VENV)/share >/dev/null
	@touch $@

demo: build ## build, run paper 001's study, say where its report is
	$(BIN)/headway run $(STUDY) --out $(OUT)
	@echo "Open $(abspath $(OUT))/report.html in a browser; it needs no network."

picture: demo ## README's picture in docs/pictures, from the results of the demo
	cp $(OUT)/figures/delay.svg $(OUT)/figures/delay-dark.svg docs/pictures/

# What a suite cannot run it notes in this file, and the last words are made of it.
SKIPS := $(CURDIR)/target/skipped.tsv
# Rust's tests: always the same crates in one profile, for cargo would build a selection of them anew.
# crates/kernel is among them where it can be built. What only waits runs beside what computes, and
# comes first when it wakes. What measures in real time runs after that, Python's beside Rust's; what
# then fails is no evidence, and runs once more, alone, as does what would let nobody else measure.
READY := $(shell tests/system_packages.sh --ready && echo kernel)
TESTED := --workspace --exclude headway-python $(if $(READY),,--exclude headway-kernel)
suites = $(sort $(basename $(notdir $(foreach crate,$(1),$(wildcard crates/$(crate)/tests/*.rs)))))
LIVE := $(call suites,emulator pep $(READY))
COMPUTES := $(if $(READY),contract verifier)
WAITS := $(if $(READY),arrows command_line ecn hints hostile_headers kill left_behind quick_start_cheats routers sampler whose)
ALONE := in_real_time
MEASURES := $(filter-out $(COMPUTES) $(WAITS) $(ALONE),$(LIVE))
NOT_LIVE := $(filter-out $(LIVE),$(call suites,wire experiment algorithms sim mirrors)) $(COMPUTES)
FIRST := $(if $(filter 0,$(shell id -u)),nice -n -10)
# The suites of Rust that failed beside others, which HEADWAY_BESIDE says; pytest knows its own.
AGAIN := $(CURDIR)/target/again

# Where the time of Python's tests goes.
SLOWEST := --durations=10 --durations-min=10

# All is built; what does not measure uses every core; what does then has them.
test: ## every test: Rust, eBPF objects, Python; ends with what this machine could not run, and why
	@mkdir -p $(dir $(SKIPS)) && : >$(SKIPS) && : >$(AGAIN)
	@export HEADWAY_SKIPS=$(SKIPS); run="$(MAKE) --no-print-directory --keep-going"; status=0; \
	$$run test-packages || status=$$?; \
	$$run --jobs=2 build built-tests $(VENV)/.dev || status=$$?; \
	$$run --jobs=5 test-format test-rust test-python test-kernel-beside test-live-beside test-lint || status=$$?; \
	HEADWAY_BESIDE=1 $$run --jobs=2 test-kernel test-live || status=$$?; \
	$$run test-kernel-alone test-live-alone || status=$$?; \
	tests/skipped.sh $(SKIPS); exit $$status

test-packages: # what only some tests need; says how to get it where it may not
	@tests/system_packages.sh

# What tests build with their own folders of algorithms (tests/further.rs) is of the same crates, and
# begins with the copy of all that is not ours.
FURTHER := target/tmp/further/debug
built-tests: # once, for all that follow
	cargo test --quiet --no-run $(TESTED) --lib --bins --tests
	@mkdir -p $(FURTHER) && cd target/debug && \
	cp --archive --update --parents $$(ls -d build/* .fingerprint/* deps/lib* | grep -v headway) ../../$(FURTHER)

test-rust test-kernel test-kernel-alone: export HEADWAY_TESTED = $(TESTED)

test-rust:
	cargo test --quiet --no-fail-fast $(TESTED) --lib --bins $(NOT_LIVE:%=--test=%)
	cargo test --quiet --no-fail-fast $(TESTED) --doc
	cargo test --quiet $(TESTED) --test=new_protocol -- 'none, but it builds what it will need'

test-python: build $(VENV)/.dev # in as many processes as there are cores
	$(BIN)/python -m pytest -m "not kernel" --numprocesses auto --no-loadscope-reorder $(SLOWEST)

test-kernel: # and what has the name of such a suite in another crate
	@status=0; for suite in $(MEASURES); do cargo test --quiet $(TESTED) --test=$$suite || \
	$(if $(HEADWAY_BESIDE),echo $$suite >>$(AGAIN),status=1); done; exit $$status
	$(if $(READY),,@tests/skipped.sh --note "$(words $(call suites,kernel))" "suites of headway-kernel" \
	"it is not built without clang-19, libbpf, libelf and zlib")

test-kernel-beside: # those that measure nothing
	$(if $(WAITS),$(FIRST) cargo test --quiet --no-fail-fast $(TESTED) $(WAITS:%=--test=%))

test-live: build $(VENV)/.dev # of Python, on the live kernel
	$(BIN)/python -m pytest -m "kernel and measures $(if $(HEADWAY_BESIDE),and not alone)" $(SLOWEST) \
	$(if $(HEADWAY_BESIDE),|| test $$? = 1) # some failed

test-live-beside: build $(VENV)/.dev # those that measure nothing
	$(FIRST) $(BIN)/python -m pytest -m "kernel and not measures" $(SLOWEST)

test-kernel-alone:
	cargo test --quiet --no-fail-fast $(TESTED) $(ALONE:%=--test=%) $$(sed 's/^/--test=/' $(AGAIN))

test-live-alone: build $(VENV)/.dev # who takes a lock that the suites of Rust take would wait for all of them
	$(BIN)/python -m pytest -m "kernel and measures and alone" $(SLOWEST)
	$(BIN)/python -m pytest -m "kernel and measures" --last-failed --last-failed-no-failures=none \
	|| test $$? = 5 # none

test-format: $(VENV)/.dev # are sources as `make format` leaves them? Not every Rust has its formatter
	$(if $(shell cargo fmt --version 2>/dev/null),cargo fmt --all --check,@tests/skipped.sh --note 1 \
	"check of Rust's form" "cargo has no fmt: rustup component add rustfmt")
	@$(call CLANG_FORMAT,--dry-run --Werror)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .

test-lint: # what ships, not its tests, which take as long again: those `make check` looks at
	$(if $(shell cargo clippy --version 2>/dev/null),cargo clippy --quiet $(TESTED) -- -D warnings,@tests/skipped.sh --note 1 \
	"check of Rust's habits" "cargo has no clippy: rustup component add clippy")

package: headwayctl ## the Debian package of headwayctl, in target/package (docs/packaging.md)
	@packaging/build.sh target/$(CTL_PROFILE)/headwayctl target/package

test-package: headwayctl $(VENV)/.engine $(VENV)/.dev ## make it, have lintian check it, install, upgrade under traffic, remove; root
	HEADWAY_PACKAGE=full $(BIN)/python -m pytest tests/test_package.py tests/test_package_service.py

check: build test-format ## formatters, linters, types and fast tests; under a minute, no root
	cargo clippy --quiet --workspace $(if $(READY),,--exclude headway-kernel) --all-targets -- -D warnings
	$(BIN)/mypy
	cargo test --quiet $(CRATES) --exclude headway-python --exclude headway-emulator --exclude headway-pep
	$(BIN)/python -m pytest -m "not slow"

verdicts: build ## run every study in full, show which verdicts changed, lock them, make the pages
	$(BIN)/headway verdicts --full --seeds --write

verdicts-live: build headwayctl ## the same for the studies that measure this machine's kernel; needs root
	$(BIN)/headway verdicts --live --full --seeds --write

format: $(VENV)/.dev ## format all sources as `make check` wants them
	cargo fmt --all
	$(call CLANG_FORMAT,-i)
	$(BIN)/ruff format --quiet .

bench: build ## the dumbbell benchmark: packets per second, ns per packet, peak memory
	$(BIN)/python benchmarks/run_bench.py

bench-controls: build ## packets per second of every control with ten flows on one core, beside its target
	$(BIN)/python benchmarks/controls_bench.py

bench-beside: build ## this engine beside another commit's in one run: COMMIT=NAME; then a thousand flows and more
	$(BIN)/python benchmarks/beside_bench.py --commit $(or $(COMMIT),HEAD~1)

bench-peers: build ## the same beside ns-3 (Debian: apt-get install ns3 libns3-dev g++)
	$(BIN)/python benchmarks/run_bench.py --peers

bench-try: build ## whole `headway try` processes on one core: packets per second, peak memory
	$(BIN)/python benchmarks/try_bench.py

bench-pep: build headwayctl ## the proxy beside direct routing and HAProxy; root (Debian: apt-get install haproxy iperf3 wrk nftables)
	$(BIN)/python benchmarks/pep_bench.py

bench-debian: build ## each control beside the module of a Debian kernel in QEMU without KVM (needs qemu-system-x86, busybox-static, iperf3)
	$(BIN)/python benchmarks/debian_kernel.py

bench-start: build ## how long the shortest commands take, beside a Python that does nothing
	$(BIN)/python benchmarks/start_bench.py

profile: ## where the simulator's time goes
	benchmarks/profile.sh

follow: build ## README, CONTRIBUTING and docs from top to bottom, as a reader does; as root the live kernel, too
	$(BIN)/python tests/followed.py

mirrors: ## what Rust knows of C structures, made of the C sources; needs libclang
	cargo run --quiet --locked -p headway-mirrors

docs: $(VENV)/.docs $(VENV)/.engine ## build the documentation site in target/site; a warning or a dead link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open $(CURDIR)/target/site/index.html in a browser; the site needs no network."

lock: ## resolve the newest dependencies into the lock files
	tests/lock.sh $(PYTHON)

clean: ## remove everything that was built, not results
	rm -rf target build $(VENV) python/headway/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
