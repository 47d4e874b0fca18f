// SPDX-License-Identifier: Apache-2.0
// A 5 x 5 convolution of an image with a border of 2. What may be chosen: the workgroup's size, how many columns one
// invocation computes, and whether the image is read through shared memory.
#version 460
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const bool kStaged = false;
#ifndef COLUMNS
#define COLUMNS 1
#endif

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

const uint kTileWidth = gl_WorkGroupSize.x * COLUMNS + 4;
const uint kTileHeight = gl_WorkGroupSize.y + 4;
shared float tile[kStaged ? kTileWidth * kTileHeight : 1];

void stage(uvec2 corner) {
    for (uint y = gl_LocalInvocationID.y; y < kTileHeight; y += gl_WorkGroupSize.y) {
        for (uint x = gl_LocalInvocationID.x; x < kTileWidth; x += gl_WorkGroupSize.x) {
            const uvec2 from = min(corner + uvec2(x, y), uvec2(width + 3, height + 3));
            tile[y * kTileWidth + x] = image[from.y * (width + 4) + from.x];
        }
    }
    barrier();
}

void main() {
    const uvec2 corner = gl_WorkGroupID.xy * gl_WorkGroupSize.xy * uvec2(COLUMNS, 1);
    if (kStaged) stage(corner);
    const uint y = gl_LocalInvocationID.y;
    for (uint column = 0; column < COLUMNS; ++column) {
        // Neighbours compute neighbouring columns, so that a subgroup reads one line of memory.
        const uint x = gl_LocalInvocationID.x + column * gl_WorkGroupSize.x;
        if (corner.x + x >= width || corner.y + y >= height) continue;
        float sum = 0.0;
        for (uint dy = 0; dy < 5; ++dy) {
            for (uint dx = 0; dx < 5; ++dx) {
                const float value = kStaged ? tile[(y + dy) * kTileWidth + x + dx]
                                            : image[(corner.y + y + dy) * (width + 4) + corner.x + x + dx];
                sum += weights[dy * 5 + dx] * value;
            }
        }
        result[(corner.y + y) * width + corner.x + x] = sum;
    }
}
