// SPDX-License-Identifier: Apache-2.0
// A shape's variant is not parsed: descriptions that differ in what a variant may say are tried, and the one whose
// space has the shape is it. So the words of a variant are written in one place, the primitive's.
#include "yolk/oracle/shape_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "shape_parts.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/problems.hpp"

namespace yolk::oracle {
namespace {

constexpr std::array kFormats{FloatFormat::F32, FloatFormat::F16, FloatFormat::BF16};
ProblemPtr matmul(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    MatmulDesc desc{
        .m = request.extents[0], .n = request.extents[1], .k = request.extents[2], .batch = request.extents[3]};
    for (const Determinism determinism : {Determinism::Fast, Determinism::Exact}) {
        desc.determinism = determinism;
        for (unsigned i = 0; i < 4 * 27; ++i) {
            desc.a.transposed = (i & 1U) != 0;
            desc.b.transposed = (i & 2U) != 0;
            desc.a.format = kFormats.at(i / 4 % 3);
            desc.b.format = kFormats.at(i / 12 % 3);
            desc.out.format = kFormats.at(i / 36);
            if (request.is(matmul_space(request.info, desc))) return make_matmul_problem(desc);
        }
    }
    return nullptr;
}

ProblemPtr perturbed_linear(const ProblemRequest& request) {
    if (request.extents.size() != 5) return nullptr;
    PerturbedLinearDesc desc{.members = request.extents[0],
                             .rows = request.extents[1],
                             .in = request.extents[2],
                             .out = request.extents[3],
                             .rank = request.extents[4],
                             .parameter = ParameterId{11}};
    for (unsigned i = 0; i < 2 * 8 * 9; ++i) {
        desc.determinism = i < 8 * 9 ? Determinism::Exact : Determinism::Fast;
        desc.antithetic = (i & 1U) == 0;
        desc.shared_input = (i & 2U) != 0;
        desc.transposed = (i & 4U) != 0;
        desc.weights_format = kFormats.at(i / 8 % 3);
        desc.input_format = kFormats.at(i / 24 % 3);
        if (request.is(perturbed_linear_space(request.info, desc))) return make_perturbed_linear_problem(desc);
    }
    return nullptr;
}

/// The extents are the network's widths, then members, episodes and rank.
ProblemPtr rollout(const ProblemRequest& request) {
    if (request.extents.size() < 5) return nullptr;
    const std::size_t widths = request.extents.size() - 3;
    RolloutDesc desc{.members = request.extents[widths],
                     .episodes = request.extents[widths + 1],
                     .max_steps = 40,
                     .rank = request.extents[widths + 2],
                     .never_stop = true};
    desc.network.widths.assign(request.extents.begin(), request.extents.begin() + static_cast<std::ptrdiff_t>(widths));
    for (const bool mean : kSwitch) {
        for (const bool antithetic : kSwitch) {
            for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
                desc.mean_only = mean;
                desc.antithetic = antithetic;
                desc.determinism = determinism;
                if (request.is(rollout_space(request.info, desc))) return make_rollout_problem(desc);
            }
        }
    }
    return nullptr;
}

/// Parameters of so many elements: CartPole's policy where some width has them, else one matrix, as square as can be.
std::vector<ParameterDesc> parameters_of(std::uint32_t elements) {
    constexpr std::uint32_t kWidest = 256;
    if (elements > 2 && (elements - 2) % 7 == 0 && (elements - 2) / 7 <= kWidest)
        return PolicyNetwork{.widths = {4, (elements - 2) / 7, 2}}.parameters();
    auto rows = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(elements)));
    while (rows > 1 && elements % rows != 0) --rows;
    return {{.name = "w", .rows = rows, .columns = elements / rows, .perturbation = Perturbation::LowRank}};
}

ProblemPtr es_update(const ProblemRequest& request) {
    if (request.extents.size() != 3 || request.extents[0] == 0) return nullptr;
    Result<ParameterTable> table = ParameterTable::create(parameters_of(request.extents[0]));
    if (!table) return nullptr;
    EsUpdateDesc desc{.parameters = *std::move(table), .population = request.extents[1], .rank = request.extents[2]};
    for (const FitnessWeights weights : {FitnessWeights::I8, FitnessWeights::F32}) {
        for (const bool antithetic : kSwitch) {
            desc.weights = weights;
            desc.antithetic = antithetic;
            if (request.is(es_update_space(request.info, desc))) return make_es_update_problem(desc);
        }
    }
    return nullptr;
}

ProblemPtr block_inverse(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
        const BlockInverseDesc desc{
            .n = request.extents[0], .blocks = request.extents[1], .mode = mode, .damping = 1e-3F};
        if (request.is(block_inverse_space(request.info, desc))) return make_block_inverse_problem(desc);
    }
    return nullptr;
}

const std::map<std::string_view, MakeShaped>& shaped_makers() {
    static const std::map<std::string_view, MakeShaped> kMakers = [] {
        std::map<std::string_view, MakeShaped> all{{"matmul", &matmul},
                                                   {"perturbed_linear", &perturbed_linear},
                                                   {"rollout", &rollout},
                                                   {"es_update", &es_update},
                                                   {"block_inverse", &block_inverse}};
        all.insert(shaped_parts().begin(), shaped_parts().end());
        return all;
    }();
    return kMakers;
}

bool has_shape(const Problem& problem, const DeviceInfo& info, const TuningShape& shape) {
    return problem.space(info).shape() == shape;
}

ProblemPtr shaped_benchmark(const DeviceInfo& info, std::string_view family_name, const TuningShape& shape) {
    for (const Family* family : families()) {
        if (family_name != family->name) continue;
        for (ProblemPtr& problem : family->benchmarks()) {
            if (has_shape(*problem, info, shape)) return std::move(problem);
        }
    }
    return nullptr;
}

}  // namespace

Result<std::unique_ptr<Problem>> make_shape_problem(const DeviceInfo& info, std::string_view family,
                                                    const TuningShape& shape) {
    if (const Family* operation = find_operation(family)) return operation->operation->of_key(shape);
    const auto maker = shaped_makers().find(family);
    const bool small = std::ranges::all_of(
        shape.extents, [](std::uint64_t extent) { return extent <= std::numeric_limits<std::uint32_t>::max(); });
    if (maker != shaped_makers().end() && small) {
        const ProblemRequest request{
            .info = info, .shape = shape, .extents = {shape.extents.begin(), shape.extents.end()}};
        // Of what the problem itself says: its maker may take less than the description holds.
        if (ProblemPtr problem = maker->second(request); problem != nullptr && has_shape(*problem, info, shape))
            return problem;
    }
    if (ProblemPtr problem = shaped_benchmark(info, family, shape)) return problem;
    if (maker != shaped_makers().end()) {
        return unsupported(
            fmt::format("no problem of {} has '{}' and extents {}: it is of an environment or a layout "
                        "that problems cannot be given",
                        family, shape.variant, shape.extents));
    }
    std::vector<std::string_view> known;
    for (const auto& [name, make] : shaped_makers()) known.push_back(name);
    return unsupported(
        fmt::format("problems of {} cannot be given sizes, and none of its benchmarks has these; sizes "
                    "can be given to {}",
                    family, fmt::join(known, ", ")));
}

}  // namespace yolk::oracle
