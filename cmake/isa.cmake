# Instruction sets follow the file name; which of them may run is decided at run time, so the rest of
# the program stays plain x86-64.
#   softmax_avx2.c, matmul_bf16_amx_32x32.c   compiled for the sets in the name
#   relu_vec.c, depthwise_conv2d_vec_3x3.c    compiled once for each set of assay_vec_isas; VEC_BITS
#                                             says for which (src/kernel/native/vec/vec.h)

set(assay_isa_avx2 -mavx2 -mfma -mf16c)
set(assay_isa_avx512 ${assay_isa_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
    -mprefer-vector-width=512)
set(assay_isa_vnni -mavx512vnni)
set(assay_isa_bf16dot -mavx512bf16)
set(assay_isa_vbmi -mavx512vbmi)
set(assay_isa_amx ${assay_isa_avx512} -mavx512bf16 -mamx-tile -mamx-bf16 -mamx-int8)

set(assay_vec_isas portable avx2 avx512)
set(assay_vec_bits_portable 32)
set(assay_vec_bits_avx2 256)
set(assay_vec_bits_avx512 512)

# assay_vec_unlooked: those that a sanitizer does not look into, because it has seen the same text for another
# set. It sees the widest that this machine runs; the address sanitizer the portable one too, whose accesses it
# knows to the byte. With ASSAY_FULL it sees all.
set(assay_vec_unlooked)
if(ASSAY_SANITIZE AND NOT ASSAY_FULL)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  if(flags MATCHES " avx512vl ")
    set(assay_vec_unlooked avx2)
  elseif(flags MATCHES " avx2 ")
    set(assay_vec_unlooked avx512)
  endif()
  if(ASSAY_SANITIZE STREQUAL "thread" AND assay_vec_unlooked)
    list(APPEND assay_vec_unlooked portable)
  endif()
endif()

# assay_isa_options(OUT NAME): what a file of this name is compiled with.
function(assay_isa_options out name)
  set(options)
  foreach(isa avx2 avx512 vnni bf16dot vbmi amx)
    if("_${name}_" MATCHES "_${isa}_")
      list(APPEND options ${assay_isa_${isa}})
    endif()
  endforeach()
  if(options AND NOT ASSAY_SANITIZE AND NOT ASSAY_QUICK)
    list(APPEND options -O3)
  endif()
  # gcc keeps what may be used after return on a stack of its own, whose frames are aligned too
  # little for vectors of 64 bytes.
  if(ASSAY_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND
     "_${name}_" MATCHES "_(avx512|amx)_")
    list(APPEND options --param=asan-use-after-return=0)
  endif()
  set(${out} ${options} PARENT_SCOPE)
endfunction()

# What all kernels are compiled with. Lines, for stack traces and profiles; their inlined variables
# would be most of the program. Every function begins a cache line: where the linker happens to put a
# loop within one made copies of a kernel differ by up to 3 % (mse, Zen 4).
set(assay_kernel_options -Wno-conversion -g1 -falign-functions=64)
if(ASSAY_SANITIZE) # native.h says why
  list(APPEND assay_kernel_options "-DVEC_INLINE=static inline")
endif()
if(ASSAY_FUZZ) # nothing a fuzz target reads gets here, and clang takes minutes over them
  list(APPEND assay_kernel_options -fno-sanitize=all -O0)
endif()

# assay_set_isa(FILE...): gives each file its options.
function(assay_set_isa)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    assay_isa_options(options ${name})
    if(file MATCHES "/src/kernel/")
      list(APPEND options ${assay_kernel_options})
    endif()
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${options})
  endforeach()
endfunction()

# assay_split_vec(FILES VEC): moves those of FILES that are compiled for each set to VEC.
function(assay_split_vec files vec)
  set(vec_name "/[^/]*_vec(_[^/]*)?\\.c$")
  set(others ${${files}})
  set(found ${${files}})
  list(FILTER others EXCLUDE REGEX ${vec_name})
  list(FILTER found INCLUDE REGEX ${vec_name})
  set(${files} ${others} PARENT_SCOPE)
  set(${vec} ${found} PARENT_SCOPE)
endfunction()

# assay_add_vec(BASE FILE...): an object library for each set, assay_vec_ISA, compiled as BASE is.
function(assay_add_vec base)
  foreach(isa IN LISTS assay_vec_isas)
    assay_isa_options(options ${isa})
    set(looked)
    if(isa IN_LIST assay_vec_unlooked)
      set(looked -fno-sanitize=all) # not -O0: what it saves, tests that run them would take
    endif()
    add_library(assay_isa_${isa} INTERFACE)
    target_compile_options(assay_isa_${isa} INTERFACE ${options} ${assay_kernel_options} ${looked})
    add_library(assay_vec_${isa} OBJECT ${ARGN})
    target_compile_definitions(assay_vec_${isa} PRIVATE VEC_BITS=${assay_vec_bits_${isa}})
    # In this order: what the kernels are compiled with overrides the strict warnings.
    target_link_libraries(assay_vec_${isa} PRIVATE ${base} assay_strict_warnings assay_isa_${isa})
    set_target_properties(assay_vec_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endforeach()
endfunction()
