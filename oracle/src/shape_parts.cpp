// SPDX-License-Identifier: Apache-2.0
#include "shape_parts.hpp"

#include <algorithm>

#include "yolk/oracle/problems.hpp"

namespace yolk::oracle {
namespace {

/// `desc` where its space has the shape.
template <class Desc, class Space>
ProblemPtr if_requested(const ProblemRequest& request, const Desc& desc, Space space_of,
                        ProblemPtr (*make)(const Desc&)) {
    return request.is(space_of(request.info, desc)) ? make(desc) : nullptr;
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

ProblemPtr matmul_i8(const ProblemRequest& request) {
    if (request.extents.size() != 4) return nullptr;
    const MatmulI8Desc desc{
        .m = request.extents[0], .n = request.extents[1], .k = request.extents[2], .batch = request.extents[3]};
    return if_requested(request, desc, &matmul_i8_space, &make_matmul_i8_problem);
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

}  // namespace

std::vector<ConcatPart> even_parts(std::uint32_t extent, std::uint32_t parts) {
    std::vector<ConcatPart> all(std::max(parts, 1U));
    const auto count = static_cast<std::uint32_t>(all.size());
    for (std::uint32_t i = 0; i < count; ++i) all[i].extent = extent / count + (i < extent % count ? 1 : 0);
    return all;
}

const std::map<std::string_view, MakeShaped>& shaped_parts() {
    static const std::map<std::string_view, MakeShaped> kMakers{{"concat", &concat},
                                                                {"matmul_i8", &matmul_i8},
                                                                {"covariance", &covariance},
                                                                {"natural_gradient", &natural_gradient},
                                                                {"inverse_sqrt", &inverse_sqrt},
                                                                {"kronecker_precondition", &kronecker_precondition}};
    return kMakers;
}

}  // namespace yolk::oracle
