// SPDX-License-Identifier: Apache-2.0
// What a run's chunks are given by the host, and what the host takes of them.
#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "equations.hpp"
#include "program_run.hpp"
#include "requirement.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::hyper::population {
namespace {

/// Elements of a value as kernels see it; zeros where there is none of that type (a candidate that failed).
void write_floats(const Value& value, std::uint64_t count, float* to) {
    const Tensor* tensor = value.tensor();
    if (tensor != nullptr && tensor->values().size() == count) {
        std::copy(tensor->values().begin(), tensor->values().end(), to);
        return;
    }
    std::fill(to, to + count, as_fp32(value));
}

}  // namespace

void Run::fill(const Upload& upload) {
    auto* to = reinterpret_cast<float*>(chunk_.slot->staging.mapped().data() + upload.staging);
    const std::uint64_t elements = upload.to.bytes / sizeof(float);
    if (upload.source >= 0) {
        const std::uint64_t each = elements / chunk_.count;
        for (std::uint32_t m = 0; m < chunk_.count; ++m) {
            const Value& values = candidates_.natural(static_cast<std::size_t>(upload.source), chunk_.first + m);
            write_floats(values, each, to + m * each);
        }
        if (upload.flush) std::transform(to, to + elements, to, exact::exact_flush_operand);
        return;
    }
    const std::vector<Value>& values = values_[upload.group][upload.variable.value];
    const std::uint64_t each = elements / values.size();
    for (std::size_t i = 0; i < values.size(); ++i) write_floats(values[i], each, to + i * each);
}

void Run::take(const Chunk& chunk, const Download& download) {
    const ExampleGroup& group = program_.groups()[download.group];
    const ValueType& type = group.graph().variables[download.variable.value].type;
    const std::uint32_t examples = examples_of(download.group, download.variable);
    const auto* from = reinterpret_cast<const float*>(chunk.slot->readback.mapped().data() + download.readback);
    std::vector<float> elements(from, from + element_count(type) * chunk.count * examples);
    if (program_.placed(download.group).variables[download.variable.value].words) {
        for (float& element : elements) element = static_cast<float>(std::bit_cast<std::uint32_t>(element));
    }
    const auto is_fine = [&](float element) { return is_met(element, download.bound); };
    if (download.bound > 0 && std::ranges::all_of(elements, is_fine)) {
        values_[download.group][download.variable.value].clear();
        return;
    }
    std::vector<Tensor> tensors = Tensor::slices(type.shape, std::move(elements)).value();
    if (!download.output_only) {
        values_[download.group][download.variable.value].assign(std::make_move_iterator(tensors.begin()),
                                                                std::make_move_iterator(tensors.end()));
        return;
    }
    for (std::uint32_t e = 0; e < group.count(); ++e) {
        Value* to = &result_.values[std::size_t{group.indices[e]} * result_.candidates + chunk.first];
        const bool is_last = examples > 1 || e + 1 == group.count();  // that wants these tensors
        for (std::uint32_t m = 0; m < chunk.count; ++m) {
            Tensor& tensor = tensors[std::size_t{m} * examples + (examples == 1 ? 0 : e)];
            to[m] = is_last ? Value(std::move(tensor)) : Value(tensor);
        }
    }
}

void Run::take_plain(const Chunk& chunk, const Download& download) {
    const ExampleGroup& group = program_.groups()[download.group];
    const std::uint32_t examples = examples_of(download.group, download.variable);
    const std::size_t count = element_count(group.graph().variables[download.variable.value].type);
    const bool are_words = program_.placed(download.group).variables[download.variable.value].words;
    const auto* const from = reinterpret_cast<const float*>(chunk.slot->readback.mapped().data() + download.readback);
    PlainOutputs& plain = result_.plain;
    float* const to = plain.elements.data() + plain.each * chunk.first;
    if (!are_words && examples == result_.examples) {  // they lie as they will
        std::copy_n(from, plain.each * chunk.count, to);
        return;
    }
    for (std::uint32_t m = 0; m < chunk.count; ++m) {
        for (std::uint32_t e = 0; e < group.count(); ++e) {
            const float* const one = from + (std::size_t{m} * examples + (examples == 1 ? 0 : e)) * count;
            float* const at = to + plain.each * m + plain.first[group.indices[e]];
            std::copy_n(one, count, at);
            for (std::size_t i = 0; are_words && i < count; ++i)
                at[i] = static_cast<float>(std::bit_cast<std::uint32_t>(at[i]));
        }
    }
}

void Run::take_means(const Chunk& chunk) {
    const Layout& layout = chunk.plan->layout;
    const auto* const from =
        reinterpret_cast<const float*>(chunk.slot->readback.mapped().data() + layout.means_readback);
    std::copy_n(from, (layout.means.bytes - chunk.slot->means_to.size_bytes) / sizeof(float),
                result_.means.begin() + chunk.first);
}

}  // namespace yolk::hyper::population
