# Turns texts into C: an array NAMES of struct ONE {name, text}, declared in HEADER, and their number N.
# A text goes by its bare name, whatever its folder.
# cmake -DOUT=file.c -DTEXTS="a.cu;b.cuh" -DHEADER=device/cuda/cuda.h -DONE=assay_cuda_text
#       -DNAMES=assay_cuda_texts -DN=assay_cuda_n_texts -P embed.cmake
cmake_minimum_required(VERSION 3.25) # IN_LIST
set(body "#include \"${HEADER}\"\n\n")
set(rows "")
set(names "")
set(count 0)
foreach(text ${TEXTS})
  file(READ ${text} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  get_filename_component(name ${text} NAME)
  if(name IN_LIST names)
    message(FATAL_ERROR "two texts are called ${name}")
  endif()
  list(APPEND names ${name})
  string(APPEND body "static const unsigned char text_${count}[] = {\n${bytes}0};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${count}},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND body "const struct ${ONE} ${NAMES}[] = {\n${rows}};\nconst int ${N} = ${count};\n")
file(WRITE ${OUT} "${body}")
