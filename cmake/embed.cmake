# Turns texts into C: cmake -DOUT=file.c -DTEXTS="a.cu;b.cuh" -DHEADER=device/cuda/cuda.h -DPREFIX=assay_cuda
# -P embed.cmake defines assay_cuda_texts and assay_cuda_n_texts, which that header declares.
set(body "#include \"${HEADER}\"\n\n")
set(rows "")
set(count 0)
foreach(text ${TEXTS})
  file(READ ${text} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         bytes "${bytes}")
  get_filename_component(name ${text} NAME)
  string(APPEND body "static const unsigned char text_${count}[] = {\n${bytes}0};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${count}},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND body "const struct ${PREFIX}_text ${PREFIX}_texts[] = {\n${rows}};\n"
                   "const int ${PREFIX}_n_texts = ${count};\n")
file(WRITE ${OUT} "${body}")
