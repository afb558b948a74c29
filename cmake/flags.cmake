# How everything is compiled: optimisation, sanitizers, warnings.

if(ASSAY_FUZZ AND NOT ASSAY_SANITIZE)
  set(ASSAY_SANITIZE address,undefined)
endif()

# asserts stay on: nothing in a timed region has one. Sanitized code is built for its reports, which
# name lines; describing the kernels' inlined variables too would double the time it takes.
if(ASSAY_QUICK AND NOT ASSAY_FULL)
  set(CMAKE_C_FLAGS_RELEASE "-O0 -g0")
elseif(ASSAY_SANITIZE OR ASSAY_QUICK)
  set(CMAKE_C_FLAGS_RELEASE "-O1 -g1")
else()
  set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
endif()

add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE -fvisibility=hidden
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(ASSAY_SANITIZE)
  set(sanitize -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(ASSAY_FUZZ)
    list(APPEND sanitize -fsanitize=fuzzer-no-link)
  endif()
  target_compile_options(assay_flags INTERFACE ${sanitize})
  target_link_options(assay_flags INTERFACE ${sanitize})
endif()

add_library(assay_warnings INTERFACE)
target_compile_options(assay_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-qual -Wformat=2 -Wundef -Wwrite-strings)
if(ASSAY_WERROR)
  target_compile_options(assay_warnings INTERFACE -Werror)
endif()

# The program's own code also says each widening and, but for its kernels (isa.cmake), each narrowing.
# Tests need not: clang calls NAN in a table of doubles a widening.
add_library(assay_strict_warnings INTERFACE)
target_compile_options(assay_strict_warnings INTERFACE -Wdouble-promotion -Wconversion
  -Wno-sign-conversion)
target_link_libraries(assay_strict_warnings INTERFACE assay_warnings)
