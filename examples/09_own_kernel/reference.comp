// SPDX-License-Identifier: Apache-2.0
// The same convolution, one invocation per element and nothing clever: what the candidates are held against.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer Image {
    float image[];
};
layout(std430, binding = 1) readonly buffer Weights {
    float weights[];
};
layout(std430, binding = 2) writeonly buffer Result {
    float result[];
};
layout(push_constant) uniform Sizes {
    uint width;
    uint height;
};

void main() {
    const uint x = gl_GlobalInvocationID.x;
    const uint y = gl_GlobalInvocationID.y;
    if (x >= width) return;
    float sum = 0.0;
    for (uint i = 0; i < 25; ++i) sum += weights[i] * image[(y + i / 5) * (width + 4) + x + i % 5];
    result[y * width + x] = sum;
}
