// SPDX-License-Identifier: Apache-2.0
#include "candidates.hpp"

#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper::population {

const Value& Candidates::natural(std::size_t source, std::uint32_t candidate) {
    if (const std::vector<Value>& values = question_->values[source]; !values.empty())
        return values[values.size() == 1 ? 0 : part_.first + candidate];
    auto& formed = formed_[source];
    if (formed.empty()) formed.resize(count());
    if (!formed[candidate]) formed[candidate] = form(question_->sources[source], candidate);
    return *formed[candidate];
}

void Candidates::forget() {
    for (auto& formed : formed_) formed.clear();
}

Tensor Candidates::form(const Source& source, std::uint32_t candidate) const {
    const std::int32_t member = first_member() + static_cast<std::int32_t>(candidate);
    if (source.spec.is_matrix()) {
        const PerturbedLinearDesc desc{.members = 1,
                                       .in = static_cast<std::uint32_t>(source.spec.shape[1]),
                                       .out = static_cast<std::uint32_t>(source.spec.shape[0]),
                                       .rank = source.rank,
                                       .parameter = source.id,
                                       .antithetic = antithetic()};
        return Tensor::create(source.spec.shape, reference::perturbed_matrix(desc, mean(source), when(), member))
            .value_or(Tensor());
    }
    const PerturbedVectorDesc desc{
        .members = 1, .element_count = source.count, .parameter = source.id, .antithetic = antithetic()};
    const auto values = reference::twin_result<float>(desc, {mean(source)}, when(), member);
    return natural_tensor(source.spec, values).value_or(Tensor());
}

}  // namespace yolk::hyper::population
