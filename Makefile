# Headway's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY ?= collateral-damage
OUT ?= results/$(STUDY)
AGAIN := $(MAKE) --no-print-directory
# The option --jobs for a recursive make; empty if the user ran `make --jobs`. A recipe that uses this
# variable needs a `+`, because otherwise make does not pass its job server to the recursive make.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=$(1))
# Runs a command without make's variables: cargo would look for make's job server, which it cannot reach.
BARE := env -u MAKEFLAGS -u MFLAGS
STEP := @$(BARE) packaging/develop.sh
# Modules installed elsewhere must not replace the ones built here.
unexport PYTHONPATH PYTHONHOME

# The engine's sources. If one of them changes, `make build` builds again.
ENGINE := $(shell find algorithms crates -name target -prune -o \
	\( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name Cargo.toml \) -print) \
	Cargo.toml Cargo.lock pyproject.toml
# C files follow the style of algorithms/, files in benchmarks/ their own.
FIND_C = $(shell find $(1) -name target -prune -o \( -name '*.c' -o -name '*.h' -o -name '*.cc' \) -print)
CLANG_FORMAT = $(BIN)/clang-format --style=file:algorithms/.clang-format $(1) $(call FIND_C,algorithms crates include examples tests) && \
	$(BIN)/clang-format $(1) $(call FIND_C,benchmarks)

.DEFAULT_GOAL := help
.PHONY: help build engine engine-guided headwayctl demo picture test test-rust test-python test-live live-build \
	live-rust-beside live-proxy-beside live-rust-measures live-rust-alone live-kernel-beside live-programs-beside live-python-measures live-python-alone \
	dist check lint format-check clippy verdicts verdicts-live format bench bench-controls \
	bench-queues bench-debian bench-debian-queues bench-beside bench-peers bench-leafspine bench-start bench-try bench-pep profile follow docs mirrors lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build everything: .venv/bin/headway and, if its tools are installed, .venv/bin/headwayctl
	+@$(AGAIN) $(call JOBS,2) $(VENV)/.linked target/.engine-release
	+@$(AGAIN) $(VENV)/.pages headwayctl

# headwayctl with its completions and manual. The simulator does not need it, so it is left out
# if its tools are missing. CTL_PROFILE=debug links the program that the live tests build.
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

$(VENV)/.live: requirements-live.lock $(VENV)/.dev
	$(STEP) pip requirements-live.lock $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.deps
	$(STEP) pip requirements-docs.lock $@

$(VENV)/.linked: pyproject.toml Cargo.toml $(VENV)/.deps
	$(STEP) link $@

# The engine in one of three profiles: release for work, quick for the demo, dev for tests.
target/.engine-%: $(ENGINE)
	$(STEP) engine $*

engine: $(VENV)/.linked ## rebuild the engine in seconds after a change to C or Rust in the simulator
	$(STEP) engine quick

engine-guided: $(VENV)/.linked ## build the engine guided by a profile of its own runs: about a tenth faster, takes twice as long
	$(STEP) engine-guided

# Completions and manual of headway, generated from its commands.
$(VENV)/.pages: target/.engine-release $(VENV)/.linked $(wildcard python/headway/cli/*.py)
	$(BIN)/headway pages $(VENV)/share >/dev/null
	@touch $@

demo: ## build and run paper 001's study, and print the path of its report
	+@$(AGAIN) $(call JOBS,2) $(VENV)/.linked target/.engine-quick
	@$(BIN)/headway run $(STUDY) --out $(OUT)
	@echo "Open $(OUT)/report.html in a browser; it needs no network."

picture: demo ## copy README's picture to docs/pictures from the results of the demo
	cp $(OUT)/figures/delay.svg $(OUT)/figures/delay-dark.svg docs/pictures/

# Skipped tests write the reason to this file. The last lines of the output list the skipped tests.
SKIPS := target/skipped.tsv
READY := $(shell tests/system_packages.sh --ready && echo ready)
TESTED := --workspace $(if $(READY),,--exclude headway-kernel)

test: ## run the deterministic tests of Rust and Python: no root, no clock, no other program
	@mkdir -p target && : >$(SKIPS)
	+@export HEADWAY_SKIPS="$$PWD/$(SKIPS)"; status=0; \
	$(AGAIN) --keep-going $(call JOBS,2) test-rust test-python || status=$$?; \
	tests/skipped.sh $(SKIPS); exit $$status

test-rust: target/.engine-dev
	$(STEP) cargo test --locked --quiet --no-fail-fast

test-python: target/.engine-dev $(VENV)/.linked $(VENV)/.dev
	@$(BARE) $(BIN)/python -m pytest --numprocesses auto

# The live tests run in three steps: first those that compute or only wait, then those that measure,
# and last, alone, those that any other work disturbs and those that failed in an earlier step. A test
# that fails twice fails the command; the last lines name both outcomes. HEADWAY_BESIDE tells tests that
# other tests run at the same time.
FURTHER := target/tmp/further/debug
FAILED := target/live-failed
# Several of these pytest commands run at once, so each keeps its own record of failed tests.
PYTEST_LIVE = $(BARE) $(BIN)/python -m pytest tests/live -o cache_dir=target/live-cache/$(1) --durations=10 --durations-min=10
LIVE = $(AGAIN) --keep-going $(call JOBS,4)

test-live: ## run the tests that need real time, root or other programs; installs these on Debian
	@mkdir -p target && : >$(SKIPS) && rm -rf $(FAILED) target/live-cache
	+@export HEADWAY_SKIPS="$$PWD/$(SKIPS)"; status=0; tests/system_packages.sh; \
	$(LIVE) live-build $(VENV)/.live $(VENV)/.linked && { \
	HEADWAY_BESIDE=1 $(LIVE) live-rust-beside live-proxy-beside live-kernel-beside live-programs-beside || status=$$?; \
	HEADWAY_BESIDE=1 $(LIVE) live-rust-measures live-python-measures || status=$$?; \
	$(AGAIN) --keep-going live-rust-alone live-python-alone || status=$$?; \
	} || status=$$?; \
	tests/skipped.sh $(SKIPS); exit $$status

live-rust-beside live-proxy-beside live-rust-measures live-rust-alone: export HEADWAY_TESTED = $(TESTED)
LIVE_RUST = @$(BARE) tests/rust_live.py run $(FAILED) "--locked $(TESTED)"

# Some tests build with their own folders of algorithms. They start from a copy of the dependencies.
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

# Kernel tests, even those that measure, spend most of their time waiting, so several run at once.
TWO := --numprocesses 2 --dist loadfile
THREE := --numprocesses 3 --dist loadfile

# pytest exits with 1 if a test failed; live-python-alone decides about those. It exits with 5 if no test
# was selected.
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

dist: $(VENV)/.deps ## build wheel, sdist, .deb and archive of headwayctl in target/dist (docs/packaging.md)
	@packaging/dist.sh $(BIN)/python

check: lint ## run formatters, linters, type checks, Rust's unit tests and Python's fast tests
	@$(BARE) cargo test --locked --quiet --lib
	@$(BARE) $(BIN)/python -m pytest --numprocesses auto -m "not slow"

lint: format-check clippy ## run formatters, linters, type checks and the search for circles of imports
	@$(BIN)/mypy
	@$(BIN)/python tests/import_circles.py
	@$(BIN)/python tests/shown_types.py

# Some installations of Rust lack the formatter and the linter.
format-check: $(VENV)/.dev
	$(if $(shell cargo fmt --version 2>/dev/null),@$(BARE) cargo fmt --all --check,@tests/skipped.sh --note 1 \
	"check of Rust's format" "cargo has no fmt: rustup component add rustfmt")
	@$(call CLANG_FORMAT,--dry-run --Werror)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

clippy: target/.engine-dev
	$(if $(shell cargo clippy --version 2>/dev/null),@$(BARE) cargo clippy --locked --quiet $(TESTED) --all-targets -- -D warnings,@tests/skipped.sh --note 1 \
	"check by Rust's linter" "cargo has no clippy: rustup component add clippy")

verdicts: build ## run the full form of every study, show changed verdicts, lock them, write the pages
	$(BIN)/headway verdicts --full --write

verdicts-live: build headwayctl ## the same for studies that measure this machine's kernel; needs root
	$(BIN)/headway verdicts --live --full --write

format: $(VENV)/.dev ## format all sources as `make check` expects them
	cargo fmt --all
	$(call CLANG_FORMAT,-i)
	$(BIN)/ruff format --quiet .

bench: build ## run the dumbbell benchmark: packets per second, ns per packet, peak memory
	$(BIN)/python benchmarks/run_bench.py

bench-controls: build ## compare packets per second of every control, ten flows on one core, with its target
	$(BIN)/python benchmarks/controls_bench.py

bench-queues: build ## compare the time per packet of every queue discipline with drop-tail's, 10 and 1000 flows on one core
	$(BIN)/python benchmarks/queues_bench.py

bench-beside: build ## compare this engine with another commit's: COMMIT=NAME; then run a thousand flows and more
	$(BIN)/python benchmarks/beside_bench.py --commit $(or $(COMMIT),HEAD~1)

bench-peers: build ## compare the engine with ns-3 (Debian: apt-get install ns3 libns3-dev g++)
	$(BIN)/python benchmarks/run_bench.py --peers

bench-leafspine: build ## compare a data centre's leaf-spine fabric of 128 hosts with ns-3 (Debian: apt-get install ns3 libns3-dev g++)
	$(BIN)/python benchmarks/leafspine_bench.py

bench-try: build ## measure whole `headway try` processes on one core: packets per second, peak memory
	$(BIN)/python benchmarks/try_bench.py

bench-pep: build headwayctl ## compare the proxy with direct routing and HAProxy; root (Debian: apt-get install haproxy iperf3 wrk nftables)
	$(BIN)/python benchmarks/pep_bench.py

bench-debian: build ## compare each control with the module of a Debian kernel in QEMU without KVM (needs qemu-system-x86, busybox-static, iperf3)
	$(BIN)/python benchmarks/debian_kernel.py

bench-debian-queues: build ## compare queues with the qdiscs of that kernel (also needs tcpdump)
	$(BIN)/python benchmarks/debian_queues.py

bench-start: build ## time the shortest commands, compared with a Python that does nothing
	$(BIN)/python benchmarks/start_bench.py

profile: ## show where the simulator spends its time
	benchmarks/profile.sh

follow: build ## run everything shown in README, CONTRIBUTING and docs, in order; as root, also on the live kernel
	$(BIN)/python tests/followed.py

mirrors: ## generate Rust's copies of the C structures; needs libclang
	cargo run --quiet --locked -p headway-mirrors

docs: $(VENV)/.docs $(VENV)/.linked target/.engine-dev ## build the documentation site in target/site; warnings and dead links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "Open target/site/index.html in a browser; the site needs no network."

lock: ## resolve the newest dependencies into the lock files
	tests/lock.sh $(PYTHON)

clean: ## remove everything that was built, but not results
	rm -rf target build $(VENV) python/headway/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
