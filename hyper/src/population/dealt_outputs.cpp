// SPDX-License-Identifier: Apache-2.0
#include "dealt_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "yolk/internal/core/hash.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::size_t kDigestBytes = sizeof(std::uint64_t);

template <class T>
void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
T with_one_nan(T value) {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

void append_value(std::string& bytes, const Value& value) {
    append(bytes, value.kind());
    if (const Tensor* tensor = value.tensor()) {
        for (const std::uint64_t extent : tensor->shape().extents()) append(bytes, extent);
        for (const float element : tensor->values()) append(bytes, with_one_nan(element));
    } else if (const std::string* text = value.text()) {
        append(bytes, text->size());
        bytes += *text;
    } else if (const double* number = value.number()) {
        append(bytes, with_one_nan(*number));
    } else if (const hyper::Record* record = value.record()) {
        append(bytes, record->fields().size());
        for (const auto& [name, field] : record->fields()) append_value(bytes, field);
    } else if (const std::int64_t* integer = value.integer()) {
        append(bytes, *integer);
    } else if (const hyper::List* list = value.list()) {
        append(bytes, list->items().size());
        for (const Value& item : list->items()) append_value(bytes, item);
    } else {
        append(bytes, *value.boolean());
    }
}

}  // namespace

std::vector<std::byte> digests_of(const PopulationOutputs& outputs) {
    std::vector<std::byte> digests(kDigestBytes * outputs.candidates);
    std::string bytes;
    for (std::uint32_t c = 0; c < outputs.candidates; ++c) {
        bytes.clear();
        if (!outputs.means.empty()) append(bytes, with_one_nan(outputs.means[c]));
        const std::uint32_t values = outputs.means.empty() && !outputs.errors[c] ? outputs.examples : 0;
        for (std::uint32_t e = 0; e < values; ++e)
            append_value(bytes, outputs.values[std::size_t{e} * outputs.candidates + c]);
        const std::uint64_t digest = hash64(std::as_bytes(std::span(bytes)));
        std::memcpy(&digests[kDigestBytes * c], &digest, kDigestBytes);
    }
    return digests;
}

void DealtOutputs::begin(PopulationOutputs room, std::size_t workers, bool audited) {
    whole_ = std::move(room);
    const std::uint32_t candidates = whole_.candidates;
    audited_ = audited;
    digests_.assign(audited ? kDigestBytes * candidates : 0, std::byte{0});
    handed_in_.clear();
    handed_in_.resize(workers);
}

std::vector<std::byte> DealtOutputs::hand_in(std::size_t worker, const evolve::MemberRange& range,
                                             PopulationOutputs part) {
    std::vector<std::byte> digests = audited_ ? digests_of(part) : std::vector<std::byte>();
    const std::lock_guard lock(mutex_);
    PopulationCounts& counts = whole_.counts;
    counts.chunks += part.counts.chunks;
    counts.dispatches += part.counts.dispatches;
    counts.submissions += part.counts.submissions;
    counts.host_calls += part.counts.host_calls;
    counts.device_equations = std::max(counts.device_equations, part.counts.device_equations);
    counts.host_equations = std::max(counts.host_equations, part.counts.host_equations);
    handed_in_[worker] = {.range = range, .part = std::move(part), .digests = digests};
    return digests;
}

void DealtOutputs::keep(const evolve::MemberRange& range, std::span<const std::byte> digests) {
    const std::lock_guard lock(mutex_);
    // An audit of the same candidates may have been handed in as well; with the same digests it is as good.
    const auto found = std::ranges::find_if(handed_in_, [&](const HandedIn& one) {
        return one.range == range && std::ranges::equal(one.digests, digests);
    });
    if (found == handed_in_.end()) return;
    const HandedIn given = std::exchange(*found, {});
    std::ranges::copy(given.part.means, whole_.means.begin() + (whole_.means.empty() ? 0 : range.first));
    for (std::uint32_t e = 0; e < whole_.examples && !whole_.values.empty(); ++e) {
        const auto from = given.part.values.begin() + std::ptrdiff_t{e} * range.count;
        std::copy_n(from, range.count, whole_.values.begin() + std::ptrdiff_t{e} * whole_.candidates + range.first);
    }
    std::ranges::copy(given.part.errors, whole_.errors.begin() + range.first);
    if (audited_) std::ranges::copy(digests, digests_.begin() + std::ptrdiff_t{kDigestBytes} * range.first);
}

std::vector<std::byte> DealtOutputs::kept(const evolve::MemberRange& range) {
    const std::lock_guard lock(mutex_);
    const auto first = digests_.begin() + static_cast<std::ptrdiff_t>(kDigestBytes * range.first);
    return {first, first + static_cast<std::ptrdiff_t>(kDigestBytes * range.count)};
}

}  // namespace yolk::hyper::population
