// SPDX-License-Identifier: Apache-2.0
#include "named_parts.hpp"

#include "shape_parts.hpp"
#include "yolk/oracle/concat.hpp"
#include "yolk/oracle/convert.hpp"
#include "yolk/oracle/cross_entropy.hpp"
#include "yolk/oracle/elementwise.hpp"
#include "yolk/oracle/gather.hpp"
#include "yolk/oracle/gru_step.hpp"
#include "yolk/oracle/inverse_sqrt.hpp"
#include "yolk/oracle/matmul_i8.hpp"
#include "yolk/oracle/noise.hpp"
#include "yolk/oracle/normalize.hpp"
#include "yolk/oracle/perturbed_embedding.hpp"
#include "yolk/oracle/perturbed_vector.hpp"
#include "yolk/oracle/softmax.hpp"
#include "yolk/oracle/transpose.hpp"

namespace yolk::oracle {
namespace {

ProblemPtr softmax(Sizes& sizes) {
    return make_softmax_problem(
        {.rows = sizes.need("rows"), .columns = sizes.need("columns"), .logarithm = sizes.flag("log")});
}

ProblemPtr cross_entropy(Sizes& sizes) {
    return make_cross_entropy_problem(
        {.rows = sizes.need("rows"), .columns = sizes.need("columns"), .shared_targets = sizes.flag("shared_targets")});
}

RowVector row_vector(Sizes& sizes, const char* name, RowVector fallback = RowVector::Shared) {
    constexpr std::array<std::string_view, 3> kVectors{"none", "shared", "per_member"};
    return sizes.choice(name, kVectors, fallback);
}

ProblemPtr normalize(Sizes& sizes) {
    constexpr std::array<std::string_view, 2> kRules{"layer", "root_mean_square"};
    const NormalizeRule rule = sizes.choice("rule", kRules, NormalizeRule::Layer);
    const bool centres = rule == NormalizeRule::Layer;
    const RowVector bias = row_vector(sizes, "bias", centres ? RowVector::Shared : RowVector::None);
    if (!centres && bias != RowVector::None) sizes.refuse("a bias, which rule=root_mean_square does not take");
    return make_normalize_problem({.rule = rule,
                                   .rows = sizes.need("rows"),
                                   .columns = sizes.need("columns"),
                                   .scale = row_vector(sizes, "scale"),
                                   .bias = bias});
}

ProblemPtr elementwise(Sizes& sizes) {
    std::array<std::string_view, abi::elementwise::kOperationCount> operations;
    for (std::uint32_t i = 0; i < operations.size(); ++i)
        operations[i] = to_string(static_cast<ElementwiseOperation>(i));
    constexpr std::array<std::string_view, 4> kLayouts{"full", "shared", "member_rows", "row"};
    return make_elementwise_problem({.operation = sizes.choice("operation", operations, ElementwiseOperation::Copy),
                                     .rows = sizes.need("rows"),
                                     .columns = sizes.need("columns"),
                                     .second = sizes.choice("second", kLayouts, SecondOperand::Full)});
}

ProblemPtr convert(Sizes& sizes) {
    constexpr std::array<std::string_view, 3> kFormats{"f32", "f16", "bf16"};
    const FloatFormat from = sizes.choice("from", kFormats, FloatFormat::F32);
    const FloatFormat to = sizes.choice("to", kFormats, from == FloatFormat::F32 ? FloatFormat::F16 : FloatFormat::F32);
    if ((from == FloatFormat::F32) == (to == FloatFormat::F32))
        sizes.refuse("neither or both of from and to f32; one must be");
    return make_convert_problem({.count = sizes.need("count"), .from = from, .to = to});
}

ProblemPtr transpose(Sizes& sizes) {
    return make_transpose_problem(
        {.members = sizes.get("members", 1), .rows = sizes.need("rows"), .columns = sizes.need("columns")});
}

ProblemPtr concat(Sizes& sizes) {
    ConcatDesc desc{.members = sizes.get("members", 1), .outer = sizes.get("outer", 1), .inner = sizes.get("inner", 1)};
    desc.parts = even_parts(sizes.need("extent"), sizes.below("parts", kMaxEvenParts + 1, 2));
    return make_concat_problem(desc);
}

ProblemPtr gather(Sizes& sizes) {
    return make_gather_problem({.members = sizes.get("members", 1),
                                .table_rows = sizes.need("table_rows"),
                                .columns = sizes.need("columns"),
                                .id_count = sizes.need("ids"),
                                .shared_table = sizes.flag("shared_table"),
                                .shared_ids = sizes.flag("shared_ids")});
}

ProblemPtr scatter(Sizes& sizes) {
    constexpr std::array<std::string_view, 2> kModes{"assign", "add"};
    return make_scatter_problem({.members = sizes.get("members", 1),
                                 .target_rows = sizes.need("target_rows"),
                                 .columns = sizes.need("columns"),
                                 .id_count = sizes.need("ids"),
                                 .mode = sizes.choice("mode", kModes, ScatterMode::Assign),
                                 .shared_ids = sizes.flag("shared_ids"),
                                 .shared_values = sizes.flag("shared_values")});
}

ProblemPtr gru_step(Sizes& sizes) {
    return make_gru_step_problem({.rows = sizes.need("rows"),
                                  .columns = sizes.need("columns"),
                                  .gate_bias = row_vector(sizes, "gate_bias"),
                                  .candidate_bias = row_vector(sizes, "candidate_bias")});
}

ProblemPtr matmul_i8(Sizes& sizes) {
    return make_matmul_i8_problem(
        {.m = sizes.need("m"), .n = sizes.need("n"), .k = sizes.need("k"), .batch = sizes.get("batch", 1)});
}

ProblemPtr perturbed_embedding(Sizes& sizes) {
    return make_perturbed_embedding_problem({.members = sizes.need("members"),
                                             .rows = sizes.get("rows", 1),
                                             .table_rows = sizes.need("table_rows"),
                                             .columns = sizes.need("columns"),
                                             .rank = sizes.get("rank", 1),
                                             .parameter = ParameterId{13},
                                             .shared_ids = sizes.flag("shared_ids"),
                                             .antithetic = sizes.flag("pairs", true)});
}

ProblemPtr perturbed_vector(Sizes& sizes) {
    return make_perturbed_vector_problem({.members = sizes.need("members"),
                                          .element_count = sizes.need("elements"),
                                          .parameter = ParameterId{12},
                                          .frozen = sizes.flag("frozen"),
                                          .antithetic = sizes.flag("pairs", true)});
}

ProblemPtr inverse_sqrt(Sizes& sizes) {
    return make_inverse_sqrt_problem({.n = sizes.need("n"), .blocks = sizes.get("blocks", 1)});
}

ProblemPtr noise(Sizes& sizes) {
    constexpr std::array<std::string_view, 2> kFormats{"i32", "f32"};
    return make_noise_problem({.element_count = sizes.need("elements"),
                               .pair_count = sizes.get("pairs", 1),
                               .format = sizes.choice("format", kFormats, NoiseFormat::I32)});
}

}  // namespace

const std::map<std::string_view, MakeNamed>& named_parts() {
    static const std::map<std::string_view, MakeNamed> kMakers{{"softmax", &softmax},
                                                               {"cross_entropy", &cross_entropy},
                                                               {"normalize", &normalize},
                                                               {"elementwise", &elementwise},
                                                               {"convert", &convert},
                                                               {"transpose", &transpose},
                                                               {"concat", &concat},
                                                               {"gather", &gather},
                                                               {"scatter", &scatter},
                                                               {"gru_step", &gru_step},
                                                               {"matmul_i8", &matmul_i8},
                                                               {"perturbed_embedding", &perturbed_embedding},
                                                               {"perturbed_vector", &perturbed_vector},
                                                               {"inverse_sqrt", &inverse_sqrt},
                                                               {"noise", &noise}};
    return kMakers;
}

}  // namespace yolk::oracle
