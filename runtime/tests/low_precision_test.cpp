// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/low_precision.hpp"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cooperative_matrix.hpp"
#include "gpu_tables.hpp"
#include "path_probe.hpp"
#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> open_paths(const DeviceInfo& device) {
    std::vector<std::string> names;
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        if (path_is_open(device, path)) names.emplace_back(to_string(path));
    }
    return names;
}

TEST(low_precision, paths_of_real_devices) {
    EXPECT_THAT(open_paths(tables::on_the_floor()), IsEmpty());
    EXPECT_THAT(open_paths(tables::swiftshader(0)), ElementsAre("int8-dot"));
    EXPECT_THAT(open_paths(tables::lavapipe(0)), ElementsAre("storage16", "int8-dot"));
    EXPECT_THAT(open_paths(tables::intel_xe(0)), ElementsAre("storage16", "int8-dot"));
    EXPECT_THAT(open_paths(tables::geforce_3080(0)),
                ElementsAre("storage16", "int8-dot", "cooperative-matrix", "cooperative-int8"));
    for (const DeviceInfo& device : {tables::h100(0), tables::radeon_9070(0), tables::arc_b580(0)}) {
        EXPECT_THAT(open_paths(device),
                    ElementsAre("storage16", "int8-dot", "cooperative-matrix", "cooperative-bf16", "cooperative-int8"))
            << device.name;
    }
    EXPECT_THAT(open_paths(tables::lavapipe_26(0)),
                ElementsAre("storage16", "int8-dot", "cooperative-matrix", "cooperative-int8"));
}

DeviceInfo of_nv_form() {
    DeviceInfo device = tables::geforce_3080(0);
    device.features.cooperative_matrix_khr = false;
    return device;
}

TEST(low_precision, the_shape_of_real_devices) {
    const auto sides = [](const DeviceInfo& device, MatrixOperands operands) {
        const auto shape = cooperative_shape(device, operands);
        return shape ? std::vector{shape->m, shape->n, shape->k} : std::vector<std::uint32_t>();
    };
    const auto of_halves = [&](const DeviceInfo& device) { return sides(device, MatrixOperands::F16); };
    const auto of_bf16 = [&](const DeviceInfo& device) { return sides(device, MatrixOperands::BF16); };
    const auto of_bytes = [&](const DeviceInfo& device) { return sides(device, MatrixOperands::I8); };
    EXPECT_THAT(of_halves(tables::h100(0)), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_bf16(tables::h100(0)), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_bytes(tables::h100(0)), ElementsAre(16, 16, 32));
    EXPECT_THAT(of_bf16(tables::geforce_3080(0)), IsEmpty());
    EXPECT_THAT(of_bytes(tables::geforce_3080(0)), ElementsAre(16, 16, 32));
    EXPECT_THAT(of_halves(tables::radeon_7900(0)), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_bf16(tables::radeon_7900(0)), IsEmpty());
    EXPECT_THAT(of_bf16(tables::radeon_9070(0)), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_bytes(tables::radeon_7900(0)), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_halves(tables::arc_b580(0)), ElementsAre(8, 16, 16));
    EXPECT_THAT(of_bytes(tables::arc_b580(0)), ElementsAre(8, 16, 32));
    EXPECT_THAT(of_halves(tables::lavapipe_26(0)), ElementsAre(8, 8, 8));
    EXPECT_THAT(of_bytes(tables::lavapipe_26(0)), ElementsAre(8, 8, 8));
    EXPECT_THAT(of_halves(tables::lavapipe(0)), IsEmpty());
    EXPECT_THAT(of_halves(of_nv_form()), ElementsAre(16, 16, 16));
    EXPECT_THAT(of_bytes(of_nv_form()), IsEmpty()) << "its kernels are of the KHR form only";
    EXPECT_TRUE(cooperative_shape(tables::geforce_3080(0), MatrixOperands::F16)->khr);
    EXPECT_FALSE(cooperative_shape(of_nv_form(), MatrixOperands::F16)->khr);
}

TEST(low_precision, a_shape_needs_all_of_its_features) {
    const auto without = [](auto&& clear) {
        DeviceInfo device = of_nv_form();
        clear(device);
        return cooperative_shape(device, MatrixOperands::F16);
    };
    EXPECT_EQ(without([](DeviceInfo& d) { d.features.shader_float16 = false; }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.features.vulkan_memory_model = false; }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.features.cooperative_matrix_nv = false; }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.cooperative_shapes.clear(); }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.limits.subgroup_size = 0; }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.cooperative_shapes = {{.m = 12, .n = 16, .k = 16}}; }), std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) {
                  d.cooperative_shapes = {{.m = 16, .n = 16, .k = 16, .result = ComponentType::F16}};
              }),
              std::nullopt);
    EXPECT_EQ(without([](DeviceInfo& d) { d.cooperative_shapes.push_back({.m = 16, .n = 16, .k = 32}); })->k, 32U);
}

TEST(low_precision, wrong_paths_are_closed_and_nothing_else) {
    const DeviceInfo device = tables::h100(0);
    const std::vector<std::string> all = open_paths(device);
    ASSERT_EQ(all.size(), kLowPrecisionPaths.size());
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        std::vector<std::string> others = all;
        std::erase(others, to_string(path));
        EXPECT_EQ(open_paths(without_wrong_paths(device, std::array{WrongPath{path, "wrong"}})), others);
    }
    EXPECT_EQ(open_paths(without_wrong_paths(device, {})), all);
    EXPECT_THAT(open_paths(without_low_precision(device)), IsEmpty());
}

TEST(low_precision, needs_are_named) {
    constexpr std::uint32_t kAll = kNeedsStorage16 | kNeedsIntegerDot | kNeedsCooperativeNv | kNeedsCooperativeKhr |
                                   kNeedsCooperativeBf16 | kNeedsCooperativeI8;
    EXPECT_THAT(missing_needs(tables::on_the_floor(), kNeedsNothing), IsEmpty());
    EXPECT_EQ(
        missing_needs(tables::on_the_floor(), kAll),
        "16-bit storage, integer dot products, NV cooperative matrices of fp16, KHR cooperative matrices of fp16, "
        "KHR cooperative matrices of bf16, KHR cooperative matrices of int8");
    EXPECT_THAT(missing_needs(tables::h100(0), kAll), IsEmpty());
    EXPECT_EQ(missing_needs(tables::geforce_3080(0), kAll), "KHR cooperative matrices of bf16");
    EXPECT_EQ(missing_needs(tables::swiftshader(0), kNeedsStorage16 | kNeedsIntegerDot), "16-bit storage");
}

TEST(low_precision, multiplications_of_subgroups_are_kept) {
    VkCooperativeMatrixPropertiesNV nv{};
    nv.MSize = 16, nv.NSize = 8, nv.KSize = 32;
    nv.AType = nv.BType = VK_COMPONENT_TYPE_SINT8_NV;
    nv.CType = nv.DType = VK_COMPONENT_TYPE_SINT32_NV;
    nv.scope = VK_SCOPE_SUBGROUP_NV;
    VkCooperativeMatrixPropertiesNV other = nv;
    other.scope = VK_SCOPE_WORKGROUP_NV;
    EXPECT_THAT(shapes_of(std::vector{nv, other}), ElementsAre(CooperativeShape{.m = 16,
                                                                                .n = 8,
                                                                                .k = 32,
                                                                                .a = ComponentType::I8,
                                                                                .b = ComponentType::I8,
                                                                                .c = ComponentType::I32,
                                                                                .result = ComponentType::I32}));
    KhrCooperativeMatrixProperties khr{.MSize = 8, .NSize = 16, .KSize = 16, .CType = 1, .ResultType = 1, .scope = 3};
    KhrCooperativeMatrixProperties saturating = khr;
    saturating.saturatingAccumulation = VK_TRUE;
    EXPECT_THAT(shapes_of(std::vector{saturating, khr}),
                ElementsAre(CooperativeShape{.m = 8, .n = 16, .k = 16, .khr = true}));
}

/// Results of a device that answers each case by `answer`.
template <class Answer>
std::vector<std::uint32_t> answers(const std::vector<ProbeWords>& cases, const Answer& answer) {
    std::vector<std::uint32_t> all;
    for (const ProbeWords& given : cases) all.push_back(answer(given));
    return all;
}

std::uint32_t byte_of(std::uint32_t word, std::uint32_t i) { return (word >> (8 * i)) & 0xFFU; }

/// Four products of bytes, each extended by `extend`.
template <class Extend>
std::uint32_t dot_by(const ProbeWords& given, const Extend& extend) {
    std::uint32_t sum = given[2];
    for (std::uint32_t i = 0; i < 4; ++i) sum += extend(byte_of(given[0], i)) * extend(byte_of(given[1], i));
    return sum;
}
std::uint32_t with_sign(std::uint32_t byte) { return byte < 128 ? byte : byte | 0xFFFFFF00U; }

TEST(path_probe, integer_dots) {
    const std::vector<ProbeWords> cases = integer_dot_cases();
    EXPECT_THAT(judge_integer_dot(cases, answers(cases, [](const ProbeWords& c) { return dot_by(c, with_sign); })),
                IsEmpty());
    EXPECT_THAT(
        judge_integer_dot(
            cases,
            answers(cases, [](const ProbeWords& c) { return dot_by(c, [](std::uint32_t byte) { return byte; }); })),
        HasSubstr("instead of"));
    EXPECT_THAT(judge_integer_dot(cases, {}), HasSubstr("gave 0 answers"));
}

TEST(path_probe, every_wrong_answer_is_found) {
    const std::vector<ProbeWords> cases = integer_dot_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::vector<std::uint32_t> results = answers(cases, [](const ProbeWords& c) { return dot_by(c, with_sign); });
        results[i] ^= 1U;
        EXPECT_THAT(judge_integer_dot(cases, results), HasSubstr("instead of")) << i;
    }
}

TEST(path_probe, words_of_16_bits) {
    const std::vector<ProbeWords> cases = storage16_cases();
    const auto weighted = [](const ProbeWords& c, bool swapped) {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < 8; ++i) {
            const bool high = (i % 2 == 1) != swapped;
            sum += (2 * i + 1) * (high ? c[i / 2] >> 16U : c[i / 2] & 0xFFFFU);
        }
        return sum;
    };
    EXPECT_THAT(judge_storage16(cases, answers(cases, [&](const ProbeWords& c) { return weighted(c, false); })),
                IsEmpty());
    EXPECT_THAT(judge_storage16(cases, answers(cases, [&](const ProbeWords& c) { return weighted(c, true); })),
                HasSubstr("instead of"));
}

constexpr CooperativeShape matrices_of(ComponentType operands, ComponentType sums) {
    return {.m = 16, .n = 8, .k = 32, .a = operands, .b = operands, .c = sums, .result = sums, .khr = true};
}

/// Operand `i` as a number.
double operand_of(const CooperativeShape& shape, const std::vector<std::byte>& bytes, std::size_t i) {
    if (shape.a == ComponentType::I8) return static_cast<std::int8_t>(bytes[i]);
    const std::uint32_t h =
        std::to_integer<std::uint32_t>(bytes[2 * i]) | std::to_integer<std::uint32_t>(bytes[2 * i + 1]) << 8U;
    if (shape.a == ComponentType::BF16) return static_cast<double>(std::bit_cast<float>(h << 16U));
    if ((h & 0x7FFFU) == 0) return 0.0;
    const double magnitude = std::ldexp(1.0 + (h & 0x3FFU) / 1024.0, static_cast<int>((h >> 10U) & 31U) - 15);
    return (h & 0x8000U) != 0 ? -magnitude : magnitude;
}

TEST(path_probe, matrices) {
    for (const CooperativeShape& shape :
         {matrices_of(ComponentType::F16, ComponentType::F32), matrices_of(ComponentType::BF16, ComponentType::F32),
          matrices_of(ComponentType::I8, ComponentType::I32)}) {
        const bool bytes = shape.a == ComponentType::I8;
        const std::vector<std::byte> operands = cooperative_operands(shape);
        ASSERT_EQ(operands.size(), (bytes ? 1U : 2U) * (16U * 32U + 32U * 8U));
        const auto value = [&](std::size_t i) { return operand_of(shape, operands, i); };
        std::vector<std::uint32_t> results;
        int beyond_half = 0;
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t j = 0; j < 8; ++j) {
                double sum = 0.0;
                for (std::size_t q = 0; q < 32; ++q) sum += value(i * 32 + q) * value(512 + q * 8 + j);
                beyond_half += std::fabs(sum) > (bytes ? 32767.0 : 2048.0) ? 1 : 0;
                results.push_back(bytes ? static_cast<std::uint32_t>(static_cast<std::int32_t>(sum))
                                        : std::bit_cast<std::uint32_t>(static_cast<float>(sum)));
            }
        }
        for (std::size_t i = 0; i < 128; ++i) results.push_back(std::uint32_t{results[i]});  // of staged operands
        EXPECT_THAT(judge_cooperative(shape, results), IsEmpty());
        EXPECT_GT(beyond_half, 8) << "sums in 16 bits must be wrong";
        results[128 + 77] ^= 1U;
        EXPECT_THAT(judge_cooperative(shape, results), HasSubstr("element [9, 5]"));
        EXPECT_THAT(judge_cooperative(shape, results), HasSubstr("of operands from shared memory"));
        results[77] ^= 1U;
        EXPECT_THAT(judge_cooperative(shape, results), HasSubstr("of operands from a buffer"));
        EXPECT_THAT(judge_cooperative(shape, {}), HasSubstr("gave 0 answers"));
    }
}

}  // namespace
}  // namespace yolk
