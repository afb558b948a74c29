# Instruction sets follow the file name: softmax_avx2.c, matmul_bf16_amx_32x32.c. Which of them may
# run is decided at run time, so the rest of the program stays plain x86-64.

set(assay_isa_avx2 -mavx2 -mfma -mf16c)
set(assay_isa_avx512 ${assay_isa_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
    -mprefer-vector-width=512)
set(assay_isa_vnni -mavx512vnni)
set(assay_isa_bf16dot -mavx512bf16)
set(assay_isa_vbmi -mavx512vbmi)
set(assay_isa_amx ${assay_isa_avx512} -mavx512bf16 -mamx-tile -mamx-bf16 -mamx-int8)

function(assay_set_isa)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    set(options)
    foreach(isa avx2 avx512 vnni bf16dot vbmi amx)
      if("_${name}_" MATCHES "_${isa}_")
        list(APPEND options ${assay_isa_${isa}})
      endif()
    endforeach()
    if(options AND NOT ASSAY_SANITIZE)
      list(APPEND options -O3)
    endif()
    # gcc keeps what may be used after return on a stack of its own, whose frames are aligned too
    # little for vectors of 64 bytes.
    if(ASSAY_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND
       "_${name}_" MATCHES "_(avx512|amx)_")
      list(APPEND options --param=asan-use-after-return=0)
    endif()
    if(file MATCHES "/src/kernel/")
      # Lines, for stack traces and profiles; their inlined variables would be most of the program.
      list(APPEND options -Wno-conversion -g1)
      if(ASSAY_SANITIZE) # native.h says why
        list(APPEND options "-DVEC_INLINE=static inline")
      endif()
      if(ASSAY_FUZZ) # nothing a fuzz target reads gets here, and clang takes minutes over them
        list(APPEND options -fno-sanitize=all -O0)
      endif()
    endif()
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${options})
  endforeach()
endfunction()
