# Headway's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY ?= collateral-damage
OUT ?= results/$(STUDY)
AGAIN := $(MAKE) --no-print-directory
# Jobs at once in a make below this one, unless `make --jobs` gave a number for all of them. A recipe
# that calls make by this name needs a `+`, or make would not pass its job server on.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=$(1))
# Cargo would look for make's job server, which recipes do not pass on.
BARE := env -u MAKEFLAGS -u MFLAGS
STEP := @$(BARE) packaging/develop.sh
# What is installed elsewhere must not replace what is built here.
unexport PYTHONPATH PYTHONHOME

# The engine's sources. A change to one of them makes `make build` build again.
ENGINE := $(shell find algorithms crates -name target -prune -o \
	\( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name Cargo.toml \) -print) \
	Cargo.toml Cargo.lock pyproject.toml
# C files follow the style of algorithms/, C++ files their own.
FIND_C = $(shell find $(1) -name target -prune -o \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print)
CLANG_FORMAT = $(BIN)/clang-format --style=file:algorithms/.clang-format $(1) $(call FIND_C,algorithms crates include examples tests) && \
	$(BIN)/clang-format $(1) $(call FIND_C,benchmarks)

.DEFAULT_GOAL := help
.PHONY: help build engine headwayctl demo picture test test-rust test-python test-live live-build \
	live-rust-beside live-proxy-beside live-rust-measures live-rust-alone live-kernel-beside live-programs-beside live-python-measures live-python-alone \
	dist check lint format-check clippy verdicts verdicts-live format bench bench-controls bench-debian \
	bench-beside bench-peers bench-start bench-try bench-pep profile follow docs mirrors lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build everything: .venv/bin/headway and, where it can be built, headwayctl beside it
	+@$(AGAIN) $(call JOBS,2) $(VENV)/.linked target/.engine-release
	+@$(AGAIN) $(VENV)/.pages headwayctl

# headwayctl with its completions and manual. The simulator does not need it, so it is left out
# where its tools are missing. CTL_PROFILE=debug takes the program that the live tests build.
CTL_PROFILE ?= release
headwayctl: $(VENV)/.venv $(if $(filter debug,$(CTL_PROFILE)),live-build)
	@if tests/system_packages.sh --ready; then \
	$(if $(filter debug,$(CTL_PROFILE)),ln -sf ../../target/debug/headwayctl $(BIN)/, \
	cargo build --release --locked --quiet -p headway-kernel && packaging/stamp.py target/release/headwayctl $(BIN)/headwayctl) && \
	$(BIN)/headwayctl pages $(VENV)/share >/dev/null; \
	else echo "headwayctl is left out: it needs clang-19 llvm-19 libbpf-dev libelf-dev zlib1g-dev pkg-config"; fi

$(VENV)/.venv:
	$(STEP) venv $(PYTHON) $@

$(VENV)/.deps: requirements.lock $(VENV)/.venv
	$(STEP) pip requirements.lock $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.deps
	$(STEP) pip requirements-dev.lock $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.deps
	$(STEP) pip requirements-docs.lock $@

$(VENV)/.linked: pyproject.toml Cargo.toml $(VENV)/.deps
	$(STEP) link $@

# The engine in one of three profiles: release for work, quick for the demo, dev for tests.
target/.engine-%: $(ENGINE)
	$(STEP) engine $*

engine: $(VENV)/.linked ## after a changed line of C or Rust in the simulator: build the engine again, in seconds
	$(STEP) engine quick

# Completions and manual of headway, made from its commands.
$(VENV)/.pages: target/.engine-release $(VENV)/.linked $(wildcard python/headway/cli/*.py)
	$(BIN)/headway pages $(VENV)/share >/dev/null
	@touch $@

demo: ## build what paper 001's study needs, run it, print where its report is
	+@$(AGAIN) $(call JOBS,2) $(VENV)/.linked target/.engine-quick
	@$(BIN)/headway run $(STUDY) --out $(OUT)
	@echo "Open $(OUT)/report.html in a browser; it needs no network."

picture: demo ## README's picture in docs/pictures, from the results of the demo
	cp $(OUT)/figures/delay.svg $(OUT)/figures/delay-dark.svg docs/pictures/

# Tests that could not run note the reason in this file; the last lines of the output list them.
SKIPS := target/skipped.tsv
READY := $(shell tests/system_packages.sh --ready && echo ready)
TESTED := --workspace $(if $(READY),,--exclude headway-kernel)

test: ## the deterministic tests of Rust and Python: no root, no clock, no other program
	@mkdir -p target && : >$(SKIPS)
	+@export HEADWAY_SKIPS="$$PWD/$(SKIPS)"; status=0; \
	$(AGAIN) --keep-going $(call JOBS,2) test-rust test-python || status=$$?; \
	tests/skipped.sh $(SKIPS); exit $$status

test-rust: target/.engine-dev
	$(STEP) cargo test --locked --quiet --no-fail-fast

test-python: target/.engine-dev $(VENV)/.linked $(VENV)/.dev
	@$(BARE) $(BIN)/python -m pytest --numprocesses auto

# The live tests, in three steps: those that compute or only wait; those that measure; alone, those
# that any other work disturbs and those that failed in an earlier step. A test that fails twice
# fails the command; the last lines name both outcomes. HEADWAY_BESIDE says that others run, too.
FURTHER := target/tmp/further/debug
FAILED := target/live-failed
# Several run at once, so each has a file of its own for the tests that failed.
PYTEST_LIVE = $(BARE) $(BIN)/python -m pytest tests/live -o cache_dir=target/live-cache/$(1) --durations=10 --durations-min=10
LIVE = $(AGAIN) --keep-going $(call JOBS,4)

test-live: ## the tests that depend on real time, root or other programs; installs these on Debian
	@mkdir -p target && : >$(SKIPS) && rm -rf $(FAILED) target/live-cache
	+@export HEADWAY_SKIPS="$$PWD/$(SKIPS)"; status=0; tests/system_packages.sh; \
	$(LIVE) live-build $(VENV)/.dev $(VENV)/.linked && { \
	HEADWAY_BESIDE=1 $(LIVE) live-rust-beside live-proxy-beside live-kernel-beside live-programs-beside || status=$$?; \
	HEADWAY_BESIDE=1 $(LIVE) live-rust-measures live-python-measures || status=$$?; \
	$(AGAIN) --keep-going live-rust-alone live-python-alone || status=$$?; \
	} || status=$$?; \
	tests/skipped.sh $(SKIPS); exit $$status

live-rust-beside live-proxy-beside live-rust-measures live-rust-alone: export HEADWAY_TESTED = $(TESTED)
LIVE_RUST = @$(BARE) tests/rust_live.py run $(FAILED) "--locked $(TESTED)"

# Some tests build with folders of algorithms of their own. They begin with a copy of what is not ours.
live-build: target/.engine-dev
	@$(BARE) cargo test --locked --quiet --no-run $(TESTED) --lib --bins --tests
	@mkdir -p $(FURTHER) && cd target/debug && \
	cp --archive --link --update --parents $$(ls -d build/* .fingerprint/* deps/lib* | grep -v headway) "$(CURDIR)/$(FURTHER)"
	$(if $(READY),,@tests/skipped.sh --note 1 "suite of headway-kernel" \
	"it is not built without clang-19, libbpf, libelf and zlib")

live-rust-beside:
	$(LIVE_RUST) fresh wire_tshark sim_further headway-pep:ignored $(if $(READY),headway-kernel kernel_computes kernel_waits)

live-proxy-beside:
	$(LIVE_RUST) live

live-rust-measures:
	$(LIVE_RUST) $(if $(READY),kernel_measures kernel_further testbed)

live-rust-alone:
	$(LIVE_RUST) in_real_time
	@$(BARE) tests/rust_live.py again $(FAILED) "--locked $(TESTED)"

# Kernel tests mostly wait, even those that measure, so several run at once.
TWO := --numprocesses 2 --dist loadfile
THREE := --numprocesses 3 --dist loadfile

# pytest exits with 1 if a test failed, which live-python-alone judges, and with 5 if no test was chosen.
live-kernel-beside:
	@$(call PYTEST_LIVE,kernel) $(TWO) -m "kernel and not measures" || test $$? = 1

live-programs-beside:
	@$(call PYTEST_LIVE,programs) $(TWO) -m "not kernel and not measures" || test $$? = 1

live-python-measures:
	@$(call PYTEST_LIVE,measures) $(THREE) -m "measures and not alone" || test $$? = 1

live-python-alone:
	@$(call PYTEST_LIVE,measures) -m "measures and alone" || test $$? = 1 -o $$? = 5
	@status=0; for group in kernel programs measures; do \
	test -e target/live-cache/$$group/v/cache/lastfailed || continue; \
	$(call PYTEST_LIVE,$$group) --last-failed --last-failed-no-failures=none || test $$? = 5 || status=1; \
	done; exit $$status

dist: $(VENV)/.deps ## build wheel, sdist, .deb and archive of headwayctl into target/dist (docs/packaging.md)
	@packaging/dist.sh $(BIN)/python

check: lint ## formatters, linters, types, Rust's unit tests and the fast tests of Python
	@$(BARE) cargo test --locked --quiet --lib
	@$(BARE) $(BIN)/python -m pytest --numprocesses auto -m "not slow"

lint: format-check clippy ## formatters, linters and types
	@$(BIN)/mypy

# Not every installation of Rust has its formatter and its linter.
format-check: $(VENV)/.dev
	$(if $(shell cargo fmt --version 2>/dev/null),@$(BARE) cargo fmt --all --check,@tests/skipped.sh --note 1 \
	"check of Rust's format" "cargo has no fmt: rustup component add rustfmt")
	@$(call CLANG_FORMAT,--dry-run --Werror)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

clippy: target/.engine-dev
	$(if $(shell cargo clippy --version 2>/dev/null),@$(BARE) cargo clippy --locked --quiet $(TESTED) --all-targets -- -D warnings,@tests/skipped.sh --note 1 \
	"check by Rust's linter" "cargo has no clippy: rustup component add clippy")

verdicts: build ## run every study in full, show which verdicts changed, lock them, make the pages
	$(BIN)/headway verdicts --full --write

verdicts-live: build headwayctl ## the same for the studies that measure this machine's kernel; needs root
	$(BIN)/headway verdicts --live --full --write

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

docs: $(VENV)/.docs $(VENV)/.linked target/.engine-dev ## build the documentation site in target/site; a warning or a dead link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open target/site/index.html in a browser; the site needs no network."

lock: ## resolve the newest dependencies into the lock files
	tests/lock.sh $(PYTHON)

clean: ## remove everything that was built, not results
	rm -rf target build $(VENV) python/headway/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
