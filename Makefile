# The two commands of the README and a few more; everything real is in CMakeLists.txt and tools/.
.PHONY: all
all:
	@cmake -S . -B build -G Ninja >/dev/null && cmake --build build
