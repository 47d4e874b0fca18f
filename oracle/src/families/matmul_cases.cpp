// SPDX-License-Identifier: Apache-2.0
#include "matmul_cases.hpp"

namespace yolk::oracle {
namespace {

constexpr MatrixLayout kT{.transposed = true};
constexpr auto kF16 = FloatFormat::F16;
constexpr auto kBf16 = FloatFormat::BF16;

std::vector<MatmulCase> sizes() {
    return {
        {{.m = 0, .n = 5, .k = 3}},
        {{.m = 5, .n = 0, .k = 3}},
        {{.m = 5, .n = 3, .k = 4, .batch = 0}},
        {{.m = 3, .n = 5, .k = 0, .has_bias = true, .activation = Activation::Tanh, .has_residual = true}},
        {{.m = 1, .n = 1, .k = 1}},
        {{.m = 1, .n = 1, .k = 1, .a = kT, .b = kT}},
        {{.m = 7, .n = 5, .k = 3}},
        {{.m = 13, .n = 17, .k = 31, .b = kT}},
        {{.m = 31, .n = 29, .k = 37, .a = kT}},
        {{.m = 15, .n = 63, .k = 9, .a = kT, .b = kT}},
        {{.m = 16, .n = 64, .k = 8}},
        {{.m = 17, .n = 65, .k = 33, .b = kT}},
        {{.m = 64, .n = 64, .k = 64, .b = kT}},
        {{.m = 32, .n = 128, .k = 32, .a = kT}},
        {{.m = 33, .n = 36, .k = 20, .a = kT, .b = kT}},
        {{.m = 68, .n = 12, .k = 16}},
        {{.m = 1, .n = 100, .k = 64, .b = kT}},
        {{.m = 100, .n = 1, .k = 12}},
    };
}

std::vector<MatmulCase> layouts() {
    return {
        {{.m = 5, .n = 9, .k = 11, .batch = 3, .b = {.batch_stride = 0}}},
        {{.m = 8,
          .n = 16,
          .k = 12,
          .batch = 4,
          .a = {.offset = 4, .stride = 20, .batch_stride = 176},
          .b = kT,
          .out = {.offset = 3, .stride = 21, .batch_stride = 200}}},
        {{.m = 9,
          .n = 7,
          .k = 5,
          .batch = 2,
          .a = {.transposed = true, .offset = 1, .stride = 11},
          .b = {.transposed = true, .offset = 2, .stride = 6},
          .out = {.offset = 5, .stride = 8}}},
        {{.m = 9,
          .n = 7,
          .k = 5,
          .batch = 6,
          .inner_batch = 3,
          .a = {.offset = 2, .stride = 17, .batch_stride = 160, .inner_stride = 5},
          .b = {.transposed = true, .stride = 16, .inner_stride = 5},
          .out = {.offset = 1, .stride = 23, .inner_stride = 7}}},
        {{.m = 16,
          .n = 16,
          .k = 16,
          .batch = 8,
          .inner_batch = 4,
          .a = {.stride = 192, .inner_stride = 16},
          .b = {.transposed = true, .offset = 64, .stride = 192, .inner_stride = 16}}},
        {{.m = 20,
          .n = 16,
          .k = 12,
          .batch = 4,
          .inner_batch = 2,
          .b = {.offset = 128, .stride = 192, .inner_stride = 16},
          .out = {.stride = 32, .inner_stride = 16}}},
        {{.m = 12,
          .n = 8,
          .k = 10,
          .batch = 6,
          .inner_batch = 2,
          .a = {.transposed = true, .stride = 24, .inner_stride = 12},
          .b = {.batch_stride = 0},
          .out = {.stride = 16, .inner_stride = 8},
          .residual = {.stride = 16, .inner_stride = 8},
          .has_residual = true}},
        {{.m = 3,
          .n = 5,
          .k = 0,
          .batch = 4,
          .inner_batch = 2,
          .out = {.stride = 10, .inner_stride = 5},
          .has_bias = true}},
    };
}

std::vector<MatmulCase> epilogues_and_values() {
    return {
        {{.m = 12, .n = 20, .k = 8, .has_bias = true, .activation = Activation::Relu}},
        {{.m = 6,
          .n = 8,
          .k = 16,
          .batch = 2,
          .b = kT,
          .residual = {.stride = 9},
          .bias_offset = 4,
          .bias_per_matrix = true,
          .has_bias = true,
          .activation = Activation::Gelu,
          .has_residual = true}},
        {{.m = 4, .n = 33, .k = 4, .has_bias = true, .activation = Activation::Silu}},
        {{.m = 10, .n = 10, .k = 10, .activation = Activation::Sigmoid, .has_residual = true}},
        {{.m = 16, .n = 32, .k = 64}, MatrixValues::Ones},
        {{.m = 9, .n = 33, .k = 65, .b = kT}, MatrixValues::Ones},
        {{.m = 11, .n = 19, .k = 23, .b = kT}, MatrixValues::Huge},
        {{.m = 11, .n = 19, .k = 24}, MatrixValues::Tiny},
        {{.m = 2, .n = 3, .k = 70001, .b = kT}},
    };
}

std::vector<MatmulCase> exact_formats() {
    return {
        {{.m = 13, .n = 17, .k = 31, .a = {.format = kF16}, .b = {.transposed = true, .format = kF16}}},
        {{.m = 9, .n = 36, .k = 20, .b = {.format = kBf16}}},
        {{.m = 33, .n = 12, .k = 16, .a = {.transposed = true, .format = kF16}, .b = kT}},
        {{.m = 7,
          .n = 5,
          .k = 9,
          .batch = 3,
          .a = {.offset = 1, .stride = 11, .format = kBf16},
          .b = {.offset = 3, .stride = 7, .batch_stride = 0, .format = kF16},
          .out = {.offset = 5, .stride = 8}}},
        {{.m = 11, .n = 13, .k = 17, .batch = 3, .b = kT, .out = {.format = kF16}}},
        {{.m = 12,
          .n = 16,
          .k = 8,
          .a = {.format = kBf16},
          .b = {.format = kBf16},
          .out = {.format = kBf16},
          .has_residual = true}},
        {{.m = 3, .n = 5, .k = 0, .out = {.format = kBf16}, .has_bias = true}},
        {{.m = 11, .n = 19, .k = 24, .a = {.format = kBf16}, .b = {.format = kBf16}}, MatrixValues::Tiny},
    };
}

std::vector<MatmulCase> formats_for_units() {
    return {
        {{.m = 64, .n = 32, .k = 48, .batch = 2, .a = {.format = kF16}, .b = {.transposed = true, .format = kF16}}},
        {{.m = 32,
          .n = 64,
          .k = 64,
          .a = {.transposed = true, .format = kF16},
          .b = {.format = kF16},
          .out = {.offset = 4, .stride = 68},
          .has_bias = true,
          .activation = Activation::Relu}},
        {{.m = 32, .n = 64, .k = 48, .a = {.format = kBf16}, .b = {.transposed = true, .format = kBf16}}},
        {{.m = 16, .n = 32, .k = 32, .batch = 2, .a = {.transposed = true, .format = kBf16}, .b = {.format = kBf16}}},
        // The block of large products on NVIDIA's units; blocks of 16, in a band of eight and a rest; and both operands
        // stored as their transposes.
        {{.m = 128, .n = 256, .k = 64, .a = {.format = kF16}, .b = {.transposed = true, .format = kF16}}},
        {{.m = 144, .n = 48, .k = 32, .a = {.format = kF16}, .b = {.format = kF16}}},
        {{.m = 16,
          .n = 48,
          .k = 32,
          .batch = 2,
          .a = {.offset = 8, .stride = 40, .format = kF16},
          .b = {.stride = 56, .format = kF16}}},
        {{.m = 32,
          .n = 32,
          .k = 32,
          .a = {.transposed = true, .format = kF16},
          .b = {.transposed = true, .format = kF16}}},
        {{.m = 32,
          .n = 32,
          .k = 32,
          .batch = 4,
          .inner_batch = 2,
          .a = {.stride = 64, .inner_stride = 32, .format = kF16},
          .b = {.transposed = true, .stride = 64, .inner_stride = 32, .format = kF16},
          .out = {.stride = 64, .inner_stride = 32}}},
    };
}

}  // namespace

std::vector<MatmulCase> product_cases() {
    std::vector<MatmulCase> all = sizes();
    for (const std::vector<MatmulCase>& more : {layouts(), epilogues_and_values()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<MatmulCase> format_cases() {
    std::vector<MatmulCase> all = exact_formats();
    for (MatmulCase& c : all) c.desc.determinism = Determinism::Exact;
    const std::vector<MatmulCase> more = formats_for_units();
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace yolk::oracle
