// SPDX-License-Identifier: Apache-2.0
#include "shape_parts.hpp"

#include <algorithm>

#include "yolk/oracle/concat.hpp"
#include "yolk/oracle/convert.hpp"
#include "yolk/oracle/covariance.hpp"
#include "yolk/oracle/cross_entropy.hpp"
#include "yolk/oracle/elementwise.hpp"
#include "yolk/oracle/expected_improvement.hpp"
#include "yolk/oracle/gather.hpp"
#include "yolk/oracle/gru_step.hpp"
#include "yolk/oracle/inverse_sqrt.hpp"
#include "yolk/oracle/kronecker_precondition.hpp"
#include "yolk/oracle/matmul_i8.hpp"
#include "yolk/oracle/natural_gradient.hpp"
#include "yolk/oracle/noise.hpp"
#include "yolk/oracle/normalize.hpp"
#include "yolk/oracle/perturbed_embedding.hpp"
#include "yolk/oracle/perturbed_vector.hpp"
#include "yolk/oracle/softmax.hpp"
#include "yolk/oracle/transpose.hpp"

namespace yolk::oracle {
namespace {

constexpr std::array kRowVectors{RowVector::None, RowVector::Shared, RowVector::PerMember};

/// `desc` where its space has the shape.
template <class Desc, class Space>
ProblemPtr if_requested(const ProblemRequest& request, const Desc& desc, Space space_of,
                        ProblemPtr (*make)(const Desc&)) {
    return request.is(space_of(request.info, desc)) ? make(desc) : nullptr;
}

// Rows of all members are one extent: they are given to one member.
ProblemPtr softmax(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    for (const bool logarithm : kSwitch) {
        const SoftmaxDesc desc{.rows = request.extents[0], .columns = request.extents[1], .logarithm = logarithm};
        if (auto problem = if_requested(request, desc, &softmax_space, &make_softmax_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr cross_entropy(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    for (const bool shared : kSwitch) {
        const CrossEntropyDesc desc{
            .rows = request.extents[0], .columns = request.extents[1], .shared_targets = shared};
        if (auto problem = if_requested(request, desc, &cross_entropy_space, &make_cross_entropy_problem))
            return problem;
    }
    return nullptr;
}

ProblemPtr normalize(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    NormalizeDesc desc{.rows = request.extents[0], .columns = request.extents[1]};
    for (unsigned i = 0; i < 2 * 9; ++i) {
        desc.rule = i % 2 == 0 ? NormalizeRule::Layer : NormalizeRule::RootMeanSquare;
        desc.scale = kRowVectors.at(i / 2 % 3);
        desc.bias = kRowVectors.at(i / 6);
        if (auto problem = if_requested(request, desc, &normalize_space, &make_normalize_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr elementwise(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    ElementwiseDesc desc{.rows = request.extents[0], .columns = request.extents[1]};
    for (unsigned i = 0; i < 4 * abi::elementwise::kOperationCount; ++i) {
        desc.operation = static_cast<ElementwiseOperation>(i / 4);
        desc.second = static_cast<SecondOperand>(i % 4);
        if (auto problem = if_requested(request, desc, &elementwise_space, &make_elementwise_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr convert(const ProblemRequest& request) {
    if (request.extents.size() != 1) return nullptr;
    for (const FloatFormat format : {FloatFormat::F16, FloatFormat::BF16}) {
        for (const bool narrow : kSwitch) {
            const ConvertDesc desc{.count = request.extents[0],
                                   .from = narrow ? FloatFormat::F32 : format,
                                   .to = narrow ? format : FloatFormat::F32};
            if (auto problem = if_requested(request, desc, &convert_space, &make_convert_problem)) return problem;
        }
    }
    return nullptr;
}

ProblemPtr transpose(const ProblemRequest& request) {
    if (request.extents.size() != 3) return nullptr;
    const TransposeDesc desc{.members = request.extents[0], .rows = request.extents[1], .columns = request.extents[2]};
    return if_requested(request, desc, &transpose_space, &make_transpose_problem);
}

ProblemPtr concat(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    ConcatDesc desc{.members = request.extents[0], .outer = request.extents[1], .inner = request.extents[2]};
    for (std::uint32_t parts = 1; parts <= kMaxEvenParts; ++parts) {
        desc.parts = even_parts(request.extents[3], parts);
        if (auto problem = if_requested(request, desc, &concat_space, &make_concat_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr gather(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    GatherDesc desc{.members = request.extents[0],
                    .table_rows = request.extents[1],
                    .columns = request.extents[2],
                    .id_count = request.extents[3]};
    for (unsigned i = 0; i < 4; ++i) {
        desc.shared_table = (i & 1U) != 0;
        desc.shared_ids = (i & 2U) != 0;
        if (auto problem = if_requested(request, desc, &gather_space, &make_gather_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr scatter(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    ScatterDesc desc{.members = request.extents[0],
                     .target_rows = request.extents[1],
                     .columns = request.extents[2],
                     .id_count = request.extents[3]};
    for (unsigned i = 0; i < 8; ++i) {
        desc.mode = (i & 1U) != 0 ? ScatterMode::Add : ScatterMode::Assign;
        desc.shared_ids = (i & 2U) != 0;
        desc.shared_values = (i & 4U) != 0;
        if (auto problem = if_requested(request, desc, &scatter_space, &make_scatter_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr gru_step(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    GruStepDesc desc{.rows = request.extents[0], .columns = request.extents[1]};
    for (unsigned i = 0; i < 9; ++i) {
        desc.gate_bias = kRowVectors.at(i % 3);
        desc.candidate_bias = kRowVectors.at(i / 3);
        if (auto problem = if_requested(request, desc, &gru_step_space, &make_gru_step_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr matmul_i8(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    const MatmulI8Desc desc{
        .m = request.extents[0], .n = request.extents[1], .k = request.extents[2], .batch = request.extents[3]};
    return if_requested(request, desc, &matmul_i8_space, &make_matmul_i8_problem);
}

ProblemPtr perturbed_embedding(const ProblemRequest& request) {
    if (request.extents.size() != 5) return nullptr;
    PerturbedEmbeddingDesc desc{.members = request.extents[0],
                                .rows = request.extents[1],
                                .table_rows = request.extents[2],
                                .columns = request.extents[3],
                                .rank = request.extents[4],
                                .parameter = ParameterId{13}};
    for (unsigned i = 0; i < 4; ++i) {
        desc.shared_ids = (i & 1U) != 0;
        desc.antithetic = (i & 2U) == 0;
        if (auto problem = if_requested(request, desc, &perturbed_embedding_space, &make_perturbed_embedding_problem))
            return problem;
    }
    return nullptr;
}

ProblemPtr perturbed_vector(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    PerturbedVectorDesc desc{
        .members = request.extents[0], .element_count = request.extents[1], .parameter = ParameterId{12}};
    for (unsigned i = 0; i < 4; ++i) {
        desc.frozen = (i & 1U) != 0;
        desc.antithetic = (i & 2U) == 0;
        if (auto problem = if_requested(request, desc, &perturbed_vector_space, &make_perturbed_vector_problem))
            return problem;
    }
    return nullptr;
}

ProblemPtr covariance(const ProblemRequest& request) {
    if (request.extents.size() != 3) return nullptr;
    for (const bool average : kSwitch) {
        const CovarianceDesc desc{
            .n = request.extents[0], .samples = request.extents[1], .blocks = request.extents[2], .average = average};
        if (auto problem = if_requested(request, desc, &covariance_space, &make_covariance_problem)) return problem;
    }
    return nullptr;
}

ProblemPtr natural_gradient(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    NaturalGradientDesc desc{.n = request.extents[1], .blocks = request.extents[0]};
    for (unsigned i = 0; i < 4; ++i) {
        desc.identity = (i & 1U) != 0;
        desc.project_mean = (i & 2U) != 0;
        if (auto problem = if_requested(request, desc, &natural_gradient_space, &make_natural_gradient_problem))
            return problem;
    }
    return nullptr;
}

ProblemPtr inverse_sqrt(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    const InverseSqrtDesc desc{.n = request.extents[0], .blocks = request.extents[1]};
    return if_requested(request, desc, &inverse_sqrt_space, &make_inverse_sqrt_problem);
}

ProblemPtr kronecker_precondition(const ProblemRequest& request) {
    if (request.extents.size() != 3) return nullptr;
    for (const KroneckerFactors factors : {KroneckerFactors::Covariances, KroneckerFactors::Inverses}) {
        const KroneckerPreconditionDesc desc{
            .n_out = request.extents[0], .n_in = request.extents[1], .blocks = request.extents[2], .factors = factors};
        if (auto problem =
                if_requested(request, desc, &kronecker_precondition_space, &make_kronecker_precondition_problem))
            return problem;
    }
    return nullptr;
}

ProblemPtr expected_improvement(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    const ExpectedImprovementDesc desc{
        .count = request.extents[0], .stride = request.extents[0], .steps = request.extents[1]};
    return request.is(expected_improvement_space(request.info, desc)) ? make_expected_improvement_problem(desc)
                                                                      : nullptr;
}

ProblemPtr noise(const ProblemRequest& request) {
    if (request.extents.size() != 2) return nullptr;
    for (const NoiseFormat format : {NoiseFormat::I32, NoiseFormat::F32}) {
        const NoiseDesc desc{.element_count = request.extents[0], .pair_count = request.extents[1], .format = format};
        if (auto problem = if_requested(request, desc, &noise_space, &make_noise_problem)) return problem;
    }
    return nullptr;
}

}  // namespace

std::vector<ConcatPart> even_parts(std::uint32_t extent, std::uint32_t parts) {
    std::vector<ConcatPart> all(std::max(parts, 1U));
    const auto count = static_cast<std::uint32_t>(all.size());
    for (std::uint32_t i = 0; i < count; ++i) all[i].extent = extent / count + (i < extent % count ? 1 : 0);
    return all;
}

const std::map<std::string_view, MakeShaped>& shaped_parts() {
    static const std::map<std::string_view, MakeShaped> kMakers{{"softmax", &softmax},
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
                                                                {"covariance", &covariance},
                                                                {"natural_gradient", &natural_gradient},
                                                                {"inverse_sqrt", &inverse_sqrt},
                                                                {"kronecker_precondition", &kronecker_precondition},
                                                                {"expected_improvement", &expected_improvement},
                                                                {"noise", &noise}};
    return kMakers;
}

}  // namespace yolk::oracle
