# The Python package as C: each file of it by its path in the package, its bytes taken in by the assembler.
# cmake -DOUT=parts.c -DROOT=python -DFILES="a.py;b.py" -DMODULE=_assay.abi3.so -DLIBRARIES="liba.so.1=/usr/lib/…"
#       -P python_parts.cmake
cmake_minimum_required(VERSION 3.25)
set(count 0)
set(all "")
macro(add_part name path)
  file(SHA256 ${path} hash)
  string(APPEND all "${name} ${hash}\n")
  string(APPEND body "PART(${count}, \"${path}\")\n")
  string(APPEND rows "    {\"${name}\", part_${count}, end_${count}},\n")
  math(EXPR count "${count} + 1")
endmacro()
foreach(file ${FILES})
  file(RELATIVE_PATH name ${ROOT} ${file})
  add_part(${name} ${file})
endforeach()
add_part(assay/_assay.abi3.so ${MODULE})
foreach(library ${LIBRARIES}) # where the module looks first (python.cmake)
  string(REGEX MATCH "^([^=]*)=(.*)$" pair ${library})
  add_part(assay/_libs/${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
string(SHA256 hash "${all}")
file(WRITE ${OUT} "#include \"runner/python.h\"

#define PART(n, path) \\
    __asm__(\".pushsection .rodata\\n\" \\
            \"part_\" #n \":\\n.incbin \\\"\" path \"\\\"\\nend_\" #n \":\\n.byte 0\\n.popsection\\n\"); \\
    extern const unsigned char part_##n[], end_##n[];
${body}
static const struct assay_python_part all[] = {
${rows}};
const struct assay_python_parts assay_python_parts = {\"${hash}\", all, ${count}};
")
