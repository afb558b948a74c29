# The two commands of the README and a few more; everything real is in CMakeLists.txt and tools/.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
sources = $(shell find src include python tests examples -name '*.[ch]' 2>/dev/null)

.PHONY: all quickstart test check check-full check-device perf perf-device dist deb python install uninstall format lint fuzz clean

all:
	@tools/build build all

# Installs what is missing, builds, and shows what this machine can do.
quickstart:
	@tools/setup build
	@tools/build build all
	@build/assay bench

# Quick: one build, the unit tests and the tools'. T=engine builds and runs tests/unit/test_engine.c alone, or
# the script of that name: T=usage tests/cli/usage.sh.
test:
	@tools/setup check
	@tools/test $(T)

# Everything: both compilers, all tests, sanitizers, fuzzing for a few seconds, the portable program.
check:
	@tools/setup check
	@tools/check

# The same with nothing left out: twice as long.
check-full:
	@tools/setup check
	@tools/check --full

# The tests that need a GPU; says so and succeeds where there is none.
check-device:
	@tools/check-device

# How fast assay itself is.
perf:
	@tools/setup check
	@tools/perf

# The bars on a GPU; says so and succeeds where there is none.
perf-device:
	@tools/perf-device

# dist/assay-VERSION-linux-MACHINE, one program that needs only the C library.
dist:
	@tools/setup build
	@tools/dist

# dist/assay_VERSION_MACHINE.deb, a Debian package of the program and the library.
deb: all
	@tools/setup deb
	@tools/deb build

# dist/assay-VERSION-cp311-abi3-linux_MACHINE.whl, the Python packages assay and kohakubench for pip, with the
# program in it.
python: all
	@tools/setup python
	@tools/build build assay_portable -DASSAY_PORTABLE=ON
	@tools/wheel build

# DESTDIR and PREFIX as usual.
install: all
	@DESTDIR="$(DESTDIR)" tools/install build "$(PREFIX)"

# Removes what `make install` put there; the same DESTDIR and PREFIX.
uninstall:
	@DESTDIR="$(DESTDIR)" tools/uninstall "$(PREFIX)"

format:
	@clang-format -i $(sources)

lint:
	@tools/setup check
	@tools/lint

# FUZZ_SECONDS for each target.
fuzz:
	@tools/setup check
	@tools/fuzz $(FUZZ_SECONDS)

clean:
	@rm -rf build build-* dist
