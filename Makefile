# A thin front: CMake does the work, presets are in CMakePresets.json.

PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
FUZZ_SECONDS ?= 600
FUZZER ?= libfuzzer
ATTACKS ?= 20
MUTANTS ?= # how many of them; all
fuzz_build = $(if $(filter afl,$(FUZZER)),afl,sanitize)
# Tests that these leave out, as regular expressions; none.
SANITIZE_SKIP ?= ^$$
VALGRIND_SKIP ?= ^$$
VALGRIND_LABELS ?= unit|cli|fuzz
VALGRIND_EVERY ?= 1 # 3: every third test
# CMAKE_ARGS: further options for CMake, such as -DNADIR_WERROR=ON

# Fresh from this make: our own -j, no jobserver handed down, no talk of entering directories.
alone     = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL
configure = cmake --preset $(1) $(CMAKE_ARGS) >/dev/null
build     = $(alone) cmake --build $(1) --parallel $(JOBS)
test_in   = $(alone) ctest --test-dir $(1) --output-on-failure --parallel $(JOBS) --timeout 900
sources   = find $(wildcard include src paper engines cli tests bench fuzz examples) -name '*.[ch]' -print0

.PHONY: all deps demo test bench install site dist deb format format-check lint tidy sanitize tsan check-all faults attack \
        mutate coverage analyze fuzz fuzz-afl clang valgrind clean help

all: ## build the library and the command into build/
	@scripts/deps build
	@$(call configure,release)
	@$(call build,build)

deps: ## install missing packages (Debian; root or sudo)
	@scripts/deps build test

demo: all ## build, then run the command on a small example
	@scripts/demo build

test: ## build and run all tests
	@scripts/deps test
	@$(call configure,release -DNADIR_TESTS=ON)
	@$(call build,build)
	@$(call test_in,build)

bench: ## build and run the benchmarks
	@scripts/deps build
	@$(call configure,release -DNADIR_BENCH=ON)
	@$(call build,build)
	@set -e; for program in $$(find build/bench -maxdepth 1 -type f -name 'bench_*' | sort); do $$program; done

install: all ## install below PREFIX (/usr/local)
	@cmake --install build --prefix "$(PREFIX)"

site: all ## the documentation as a static site, build/site/index.html
	@scripts/deps docs
	@scripts/site build

dist: ## pack what is committed as build/nadir-VERSION.tar.gz
	@scripts/dist build

deb: ## build Debian packages from what is committed, in build/debian/
	@scripts/deps build package
	@scripts/deb build/debian

sanitize: ## all tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/deps check
	@$(call configure,sanitize)
	@$(call build,build-sanitize)
	@$(call test_in,build-sanitize) --exclude-regex '$(SANITIZE_SKIP)'

tsan: ## unit tests with ThreadSanitizer: many contexts in many threads, OpenMP inside
	@scripts/deps check
	@$(call configure,thread)
	@$(call build,build-thread)
	@$(call test_in,build-thread) --label-regex unit

faults: ## every allocation and every call on a file fails once, and kill -9 there
	@scripts/deps test
	@$(call configure,release -DNADIR_TESTS=ON)
	@$(call build,build)
	@NADIR_FAULTS=all $(call test_in,build) --timeout 7200 --label-regex faults --verbose

attack: ## bounds, proofs and verification attacked: ATTACKS (20) times the problems that the tests have
	@scripts/deps test
	@$(call configure,release -DNADIR_TESTS=ON)
	@$(call build,build)
	@NADIR_ATTACKS=$(ATTACKS) $(call test_in,build) --timeout 7200 --label-regex attack --verbose

mutate: ## unsound changes to what certificates rest on, and which of them the tests see (MUTANTS=10: of a sample)
	@scripts/deps test
	@JOBS=$(JOBS) $(alone) scripts/mutate $(if $(MUTANTS),--sample $(MUTANTS))

check-all: FUZZ_SECONDS = 120
check-all: test clang sanitize valgrind tsan format-check lint analyze coverage faults fuzz fuzz-afl attack mutate ## everything that can be checked, also what takes too long for .ci/run

coverage: ## all tests, and which lines of the library they reach: build-coverage/uncovered.txt
	@scripts/deps check
	@$(call configure,coverage)
	@$(call build,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	@$(call test_in,build-coverage)
	@scripts/coverage build-coverage

analyze: ## gcc -fanalyzer over src/, paper/ and cli/
	@scripts/deps build
	@scripts/analyze

fuzz: ## fuzz every reader for FUZZ_SECONDS (600) each, by libFuzzer or FUZZER=afl; what is found stays in BUILD/found
	@scripts/deps check $(if $(filter afl,$(FUZZER)),afl)
	@$(call configure,$(fuzz_build))
	@$(call build,build-$(fuzz_build)) --target fuzzers
	@programs=$$(find build-$(fuzz_build)/fuzz -maxdepth 1 -type f -name 'fuzz_*' | sort); \
	    test -n "$$programs" || { echo "build-$(fuzz_build)/fuzz has no programs" >&2; exit 1; }; \
	    echo "$$programs" | xargs -P $(JOBS) -I '{}' fuzz/run $(FUZZ_SECONDS) '{}' build-$(fuzz_build)/found

fuzz-afl:
	@$(MAKE) --no-print-directory fuzz FUZZER=afl FUZZ_SECONDS=$(FUZZ_SECONDS)

clang: ## all tests with clang, warnings as errors
	@scripts/deps check
	@$(call configure,clang)
	@$(call build,build-clang)
	@$(call test_in,build-clang)

valgrind: ## unit tests, tests of the command and seeds of fuzzing under memcheck (VALGRIND_LABELS=unit: those alone)
	@scripts/deps check
	@$(call configure,release -DNADIR_TESTS=ON)
	@$(call build,build)
	@NADIR_VALGRIND=1 $(call test_in,build) --label-regex '$(VALGRIND_LABELS)' --exclude-regex '$(VALGRIND_SKIP)' \
	    --tests-information 1,,$(strip $(VALGRIND_EVERY))

lint tidy: ## clang-tidy and cppcheck
	@scripts/deps check
	@scripts/lint

format: ## rewrite the sources with clang-format
	@scripts/deps check
	@$(sources) | xargs -0 -r clang-format -i

format-check: ## fail where clang-format would change something
	@scripts/deps check
	@$(sources) | xargs -0 -r clang-format --dry-run --Werror

clean: ## remove everything built
	@rm -rf build build-debug build-clang build-sanitize build-thread build-coverage build-analyze build-afl build-mutants

help: ## show this list
	@sed -n 's/^\([a-z -]*\):.*## /\1\t/p' Makefile | expand -t 16
