// SPDX-License-Identifier: Apache-2.0
// What hyperfunctions are made of: weights, settings of models, and what a host function gets of its group.
#include <algorithm>
#include <cmath>

#include "equations.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {

Result<Tensor> detail::numbers_in(const Value& value) {
    if (const Tensor* values = value.tensor()) return *values;
    return operand_error(kInside, value, "a tensor");
}

Result<Value> detail::parameters_of(const HostCall& call, const ParameterSpec& spec) {
    if (spec.is_text) return Value(std::string(call.text));
    if (!call.numbers.empty()) return Value(Tensor::of_numbers({call.numbers.begin(), call.numbers.end()}));
    YOLK_TRY(Tensor values, Tensor::create(spec.shape, {call.parameters.begin(), call.parameters.end()}));
    return Value(std::move(values));
}

std::vector<double> written_numbers(const HostCall& call) {
    if (!call.numbers.empty()) return {call.numbers.begin(), call.numbers.end()};
    std::vector<double> numbers;
    for (const float number : call.parameters) numbers.push_back(shortest(number));
    return numbers;
}

Result<MatrixWeight> MatrixWeight::from_tensor(Tensor values, std::uint32_t noise_rank) {
    const Shape& shape = values.shape();
    if (shape.rank() != 2 || shape[0] == 0 || shape[1] == 0 || shape[0] > UINT32_MAX || shape[1] > UINT32_MAX) {
        return bad_input("MatrixWeight::from_tensor: a tensor {}; it takes a matrix [out, in].", shape.to_string());
    }
    const auto out = static_cast<std::uint32_t>(shape[0]);
    const auto in = static_cast<std::uint32_t>(shape[1]);
    return MatrixWeight{out, in, noise_rank, std::move(values)};
}

std::int64_t LmParam::max_tokens(std::int64_t limit) const noexcept {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(max_tokens_fraction * static_cast<double>(limit)));
}

FieldsOf<LmParam> fields_of(const LmParam*) {
    return {field_of("temperature", &LmParam::temperature).between(0.0, 2.0),
            field_of("top_p", &LmParam::top_p).between(0.0, 1.0),
            field_of("presence_penalty", &LmParam::presence_penalty).between(-2.0, 2.0),
            field_of("frequency_penalty", &LmParam::frequency_penalty).between(-2.0, 2.0),
            field_of("max_tokens_fraction", &LmParam::max_tokens_fraction).between(0.0, 1.0)};
}

FieldsOf<LmTokenParam> fields_of(const LmTokenParam*) {
    return {field_of("temperature", &LmTokenParam::temperature).between(0.0, 2.0),
            field_of("top_p", &LmTokenParam::top_p).between(0.0, 1.0),
            field_of("presence_penalty", &LmTokenParam::presence_penalty).between(-2.0, 2.0),
            field_of("frequency_penalty", &LmTokenParam::frequency_penalty).between(-2.0, 2.0),
            field_of("top_k", &LmTokenParam::top_k).between(1.0, 1000.0).log(),
            field_of("max_tokens", &LmTokenParam::max_tokens).between(1.0, 32768.0).log()};
}

Error two_of_one_name(const AnyHyperfunction::Parts& one, const AnyHyperfunction::Parts& other) {
    return bad_input(
        "Two hyperfunctions are called '{}': one is {} ({}), the other {} ({}). Names are unique in a system; rename "
        "one, or make it once, outside the function that calls it.",
        one.spec.name, described(one.spec), line_of(one.made_at), described(other.spec), line_of(other.made_at));
}

AnyHyperfunction::AnyHyperfunction(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

}  // namespace yolk::hyper
