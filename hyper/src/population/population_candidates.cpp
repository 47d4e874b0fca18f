// SPDX-License-Identifier: Apache-2.0
#include "population_candidates.hpp"

#include <utility>

#include "yolk/reference/perturbed_linear.hpp"
#include "yolk/reference/perturbed_vector.hpp"

namespace yolk::hyper::population {

Candidates Candidates::perturbed(std::span<const Source> sources, const Perturbations& perturbations,
                                 std::vector<Tensor> given) {
    Candidates candidates;
    candidates.sources_ = sources;
    candidates.perturbations_ = perturbations;
    candidates.values_.resize(sources.size());
    candidates.formed_.resize(sources.size());
    for (std::size_t s = 0; s < sources.size(); ++s) {
        if (sources[s].kind == SourceKind::Given) candidates.values_[s] = {std::move(given[s])};
    }
    return candidates;
}

Candidates Candidates::given(std::span<const Source> sources, std::uint32_t count,
                             std::vector<std::vector<Tensor>> values) {
    Candidates candidates;
    candidates.sources_ = sources;
    candidates.perturbations_.members = count;
    candidates.values_ = std::move(values);
    candidates.formed_.resize(sources.size());
    return candidates;
}

const Tensor& Candidates::natural(std::size_t source, std::uint32_t candidate) {
    if (const std::vector<Tensor>& values = values_[source]; !values.empty())
        return values[values.size() == 1 ? 0 : candidate];
    auto& formed = formed_[source];
    if (formed.empty()) formed.resize(count());
    if (!formed[candidate]) formed[candidate] = form(sources_[source], candidate);
    return *formed[candidate];
}

void Candidates::forget() {
    for (auto& formed : formed_) formed.clear();
}

Tensor Candidates::form(const Source& source, std::uint32_t candidate) const {
    const Perturbations& p = perturbations_;
    const std::span<const float> centre = p.centre.subspan(source.offset, source.count);
    const std::int32_t member = p.first_member + static_cast<std::int32_t>(candidate);
    if (source.spec.is_matrix()) {
        const PerturbedLinearDesc desc{.members = 1,
                                       .in = static_cast<std::uint32_t>(source.spec.shape[1]),
                                       .out = static_cast<std::uint32_t>(source.spec.shape[0]),
                                       .rank = p.rank,
                                       .parameter = source.id,
                                       .antithetic = p.antithetic};
        const std::vector<double> weights = reference::perturbed_weights(desc, centre, p.when, member);
        return Tensor::create(source.spec.shape, {weights.begin(), weights.end()}).value_or(Tensor());
    }
    const std::vector<float> values = reference::perturbed_vector_twin(
        {.members = 1, .element_count = source.count, .parameter = source.id, .antithetic = p.antithetic}, centre,
        p.when, member);
    return natural_tensor(source.spec, values).value_or(Tensor());
}

}  // namespace yolk::hyper::population
