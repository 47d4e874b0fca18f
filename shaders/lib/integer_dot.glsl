// SPDX-License-Identifier: Apache-2.0
// The dot product of four signed bytes with four, packed in words, lowest byte first: class E. With INTEGER_DOT by
// OpSDot, which GLSL of Debian 12 has no name for (docs/adr/0009-integer-dot-by-spirv-intrinsics.md); the including
// shader requires GL_EXT_spirv_intrinsics.
#ifndef YOLK_LIB_INTEGER_DOT_GLSL
#define YOLK_LIB_INTEGER_DOT_GLSL

#ifdef INTEGER_DOT
// 4450 OpSDot, 6019 DotProduct, 6018 DotProductInput4x8BitPacked; format 0 is PackedVectorFormat4x8Bit.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int spirv_dot(uint a, uint b, spirv_literal int format);
int integer_dot(uint a, uint b) { return spirv_dot(a, b, 0); }
#else
ivec4 signed_bytes(uint word) {
    int w = int(word);
    return ivec4(w << 24, w << 16, w << 8, w) >> 24;
}
int integer_dot(uint a, uint b) {
    ivec4 products = signed_bytes(a) * signed_bytes(b);
    return (products.x + products.y) + (products.z + products.w);
}
#endif

#endif
