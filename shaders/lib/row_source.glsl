// SPDX-License-Identifier: Apache-2.0
// Where kernels on rows read their input: a storage buffer or, with ROWS_TEXEL, a texel buffer, which lavapipe reads
// several times faster (docs/adr/0010).
#ifdef ROWS_TEXEL
layout(set = 0, binding = kBindIn) uniform samplerBuffer in_;
float in_at(uint index) { return texelFetch(in_, int(index)).x; }
#else
layout(set = 0, binding = kBindIn, scalar) readonly restrict buffer In { float in_[]; };
float in_at(uint index) { return in_[index]; }
#endif
