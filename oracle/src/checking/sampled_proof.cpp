// SPDX-License-Identifier: Apache-2.0
#include "sampled_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "check_tools.hpp"
#include "half_values.hpp"
#include "yolk/log.hpp"

namespace yolk::oracle {
namespace {

constexpr std::size_t kJudged = 16;  // elements that are apart, by the oracle
constexpr std::uint32_t kSampleStream = 77;

/// One of each of `wanted` ranges of about the same length, the first and the last of all among them.
std::vector<std::uint64_t> drawn_elements(std::uint64_t count, std::uint64_t wanted) {
    std::vector<std::uint64_t> elements;
    if (count == 0) return elements;
    Draws draws(1, kSampleStream);
    const std::uint64_t ranges = std::min(count, std::max<std::uint64_t>(wanted, 2));
    const auto begin_of = [&](std::uint64_t range) {
        return static_cast<std::uint64_t>(static_cast<double>(count) / static_cast<double>(ranges) *
                                          static_cast<double>(range));
    };
    for (std::uint64_t range = 0; range < ranges; ++range) {
        const std::uint64_t begin = begin_of(range);
        const std::uint64_t length = std::max<std::uint64_t>(std::min(count, begin_of(range + 1)) - begin, 1);
        const std::uint64_t drawn = std::uint64_t{draws.word()} << 32U | draws.word();
        elements.push_back(std::min(begin + drawn % length, count - 1));
    }
    elements.front() = 0;
    elements.back() = count - 1;
    return elements;
}

}  // namespace

SampledProof::SampledProof(std::unique_ptr<const ElementOracle> oracle, std::uint64_t elements)
    : oracle_(std::move(oracle)),
      type_(oracle_->bits()),
      most_apart_(oracle_->most_apart()),
      elements_(drawn_elements(oracle_->count(), elements)) {
    for (const std::uint64_t element : elements_) {
        expected_.push_back(oracle_->at(element));
        if (const auto twin = oracle_->twin_at(element)) twin_.push_back(*twin);
    }
}

std::uint32_t SampledProof::bits_at(std::span<const std::uint32_t> words, std::uint64_t element) const noexcept {
    if (bytes_of(type_) == 4) return words[element];
    return words[element / 2] >> (16 * (element % 2)) & 0xFFFFU;
}

void SampledProof::verify_sample(CheckReport& report, const std::string& name,
                                 std::span<const std::uint32_t> output) const {
    std::vector<double> values;
    std::vector<std::uint32_t> words;
    for (const std::uint64_t element : elements_) {
        words.push_back(bits_at(output, element));
        values.push_back(value_of(type_, words.back()));
    }
    if (!twin_.empty()) verify_words_against_twin(report, name, words, twin_, elements_);
    verify_against_oracle(report, name, values, expected_, elements_);
}

void SampledProof::keep_first(CheckReport& report, const std::string& name, std::vector<std::uint32_t> output,
                              std::span<const std::uint32_t> again) {
    const auto [here, there] = std::ranges::mismatch(output, again);
    if (here == output.end() && there == again.end()) {
        first_ = std::move(output);
        first_name_ = name;
        return;
    }
    report.fail(fmt::format("{}: word {} of the output depends on what was there before: {:#010x} and {:#010x}.", name,
                            here - output.begin(), *here, *there));
}

bool SampledProof::is_right(std::uint64_t element, std::uint32_t bits) const {
    if (const auto twin = oracle_->twin_at(element)) return bits == *twin;
    const Bounded expected = oracle_->at(element);
    return std::abs(value_of(type_, bits) - expected.value) <= expected.tolerance;
}

SampledProof::Apart SampledProof::elements_apart(std::span<const std::uint32_t> output) const {
    Apart apart;
    const std::size_t in_word = sizeof(std::uint32_t) / bytes_of(type_);
    const bool is_class_t = most_apart_ > 0.0;
    const auto distance = [](double a, double b) { return std::abs(a - b); };
    for (std::size_t word = 0; word < output.size(); ++word) {
        if (output[word] == first_[word]) continue;
        // Of class T most words differ, and most elements are fp32.
        if (is_class_t && type_ == ElementBits::F32 &&
            distance(std::bit_cast<float>(output[word]), std::bit_cast<float>(first_[word])) <= most_apart_)
            continue;
        const std::uint64_t end = std::min<std::uint64_t>((word + 1) * in_word, oracle_->count());
        for (std::uint64_t element = word * in_word; element < end; ++element) {
            const std::uint32_t bits = bits_at(output, element), right = bits_at(first_, element);
            // False of what is not a number.
            const bool is_near = is_class_t && distance(value_of(type_, bits), value_of(type_, right)) <= most_apart_;
            if (bits == right || is_near) continue;
            if (apart.count++ < kJudged) apart.some.push_back(element);
        }
    }
    return apart;
}

std::string SampledProof::text_at(std::uint64_t element, std::uint32_t bits) const {
    const Bounded expected = oracle_->at(element);
    return fmt::format("element {} is {:.9g} where the oracle has {:.9g} +- {:.3g}", element, value_of(type_, bits),
                       expected.value, expected.tolerance);
}

void SampledProof::verify_rest(CheckReport& report, const std::string& name, std::vector<std::uint32_t> output,
                               std::uint32_t poison) {
    if (output.size() != first_.size()) {
        report.fail(fmt::format("{}: {} words came, the first run had {}.", name, output.size(), first_.size()));
        return;
    }
    // By numbers alone a poison may pass for a small result.
    for (std::size_t word = 0; word < output.size(); ++word) {
        if (output[word] != poison || first_[word] == poison) continue;
        report.fail(fmt::format("{}: word {} of the output was not written.", name, word));
        return;
    }
    const Apart apart = elements_apart(output);
    if (apart.count == 0) return;
    const auto wrong = std::ranges::find_if(
        apart.some, [&](std::uint64_t element) { return !is_right(element, bits_at(output, element)); });
    if (wrong != apart.some.end()) {
        report.fail(fmt::format("{}: {}; {} elements are too far from those of another configuration.", name,
                                text_at(*wrong, bits_at(output, *wrong)), apart.count));
        return;
    }
    const auto first_wrong = std::ranges::find_if(
        apart.some, [&](std::uint64_t element) { return !is_right(element, bits_at(first_, element)); });
    if (first_wrong == apart.some.end()) return;
    log_warning(fmt::format("{}: {}, which was taken for right. Prove its configuration again.", first_name_,
                            text_at(*first_wrong, bits_at(first_, *first_wrong))));
    first_ = std::move(output);
    first_name_ = name;
}

}  // namespace yolk::oracle
