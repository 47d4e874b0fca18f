// SPDX-License-Identifier: Apache-2.0
// Tensors. The other values are in value.cpp, their texts in value_text.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "with_extent.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {
namespace {

/// What lies before and behind one dimension, as counts of elements.
struct Around {
    std::size_t outer = 1;
    std::size_t inner = 1;
};
Around around(const Shape& shape, std::size_t dimension) {
    Around result;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
        if (i < dimension) result.outer *= shape[i];
        if (i > dimension) result.inner *= shape[i];
    }
    return result;
}

Result<std::size_t> checked_dimension(const char* what, const Shape& shape, std::int64_t dimension) {
    const auto rank = static_cast<std::int64_t>(shape.rank());
    if (dimension >= rank || dimension < -rank) {
        return bad_input("{}: dimension {} of a tensor {}; it must be from {} to {}.", what, dimension,
                         shape.to_string(), -rank, rank - 1);
    }
    return static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension);
}

}  // namespace

Tensor::Tensor() : Tensor(Shape{0}, {}) {}
Tensor::Tensor(Shape shape, std::vector<float> values)
    : storage_(std::make_shared<const Storage>(Storage{std::move(shape), std::move(values)})),
      values_(storage_->values) {}
Tensor::Tensor(std::shared_ptr<const Storage> storage, std::span<const float> values)
    : storage_(std::move(storage)), values_(values) {}

Result<Tensor> Tensor::create(Shape shape, std::vector<float> values) {
    YOLK_TRY(const std::uint64_t count, shape.element_count());
    if (count != values.size()) {
        return bad_input("A tensor {} has {} elements; {} were given.", shape.to_string(), count, values.size());
    }
    return Tensor(std::move(shape), std::move(values));
}

Result<std::vector<Tensor>> Tensor::slices(Shape each, std::vector<float> values) {
    YOLK_TRY(const std::uint64_t count, each.element_count());
    if (count == 0 || values.size() % count != 0) {
        return bad_input("Tensors {} of {} elements each were to share {} elements; they must fill them.",
                         each.to_string(), count, values.size());
    }
    const auto storage = std::make_shared<const Storage>(Storage{std::move(each), std::move(values)});
    const std::span<const float> all = storage->values;
    std::vector<Tensor> tensors;
    tensors.reserve(all.size() / count);
    for (std::size_t at = 0; at < all.size(); at += count) tensors.push_back(Tensor(storage, all.subspan(at, count)));
    return tensors;
}

Tensor Tensor::vector(std::vector<float> values) {
    Shape shape{values.size()};
    return {std::move(shape), std::move(values)};
}

Tensor Tensor::filled(Shape shape, float value) {
    const std::uint64_t count = shape.element_count().value();
    return {std::move(shape), std::vector<float>(count, value)};
}

Tensor Tensor::of_numbers(std::vector<double> numbers) {
    std::vector<float> values;
    for (const double number : numbers) values.push_back(static_cast<float>(number));
    Shape shape{values.size()};
    auto storage = std::make_shared<const Storage>(Storage{std::move(shape), std::move(values), std::move(numbers)});
    const std::span<const float> all = storage->values;
    return {std::move(storage), all};
}

bool operator==(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return false;
    if (!a.numbers().empty() && !b.numbers().empty() && !std::ranges::equal(a.numbers(), b.numbers())) return false;
    return a.values_.data() == b.values_.data() || a.values_.empty() ||
           std::memcmp(a.values_.data(), b.values_.data(), a.values_.size_bytes()) == 0;
}

Result<Tensor> concat(std::span<const Tensor> parts, std::int64_t dimension) {
    if (parts.empty()) return bad_input("concat: no parts were given; it needs at least one.");
    const Shape& first = parts[0].shape();
    YOLK_TRY(const std::size_t along, checked_dimension("concat", first, dimension));
    std::uint64_t extent = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Shape& shape = parts[i].shape();
        if (shape.rank() != first.rank() || with_extent(shape, along, first[along]) != first) {
            return bad_input("concat: part {} is {}, the first is {}; they may differ along dimension {} only.", i,
                             shape.to_string(), first.to_string(), along);
        }
        extent += shape[along];
    }
    const Around counts = around(first, along);
    std::vector<float> values;
    values.reserve(counts.outer * extent * counts.inner);
    for (std::size_t o = 0; o < counts.outer; ++o) {
        for (const Tensor& part : parts) {
            const std::size_t size = part.shape()[along] * counts.inner;
            const auto piece = part.values().subspan(o * size, size);
            values.insert(values.end(), piece.begin(), piece.end());
        }
    }
    return Tensor::create(with_extent(first, along, extent), std::move(values));
}

Result<std::vector<Tensor>> split(const Tensor& whole, std::span<const std::uint64_t> sizes, std::int64_t dimension) {
    YOLK_TRY(const std::size_t along, checked_dimension("split", whole.shape(), dimension));
    const std::uint64_t extent = whole.shape()[along];
    std::uint64_t sum = 0;
    for (const std::uint64_t size : sizes) sum = size > extent - std::min(sum, extent) ? extent + 1 : sum + size;
    if (sum != extent || sizes.empty()) {
        return bad_input("split: sizes [{}] of a tensor {}; along dimension {} they must sum to {}.",
                         fmt::join(sizes, ", "), whole.shape().to_string(), along, extent);
    }
    const Around counts = around(whole.shape(), along);
    std::vector<Tensor> parts;
    std::size_t first = 0;
    for (const std::uint64_t size : sizes) {
        std::vector<float> values;
        values.reserve(counts.outer * size * counts.inner);
        for (std::size_t o = 0; o < counts.outer; ++o) {
            const auto piece = whole.values().subspan((o * extent + first) * counts.inner, size * counts.inner);
            values.insert(values.end(), piece.begin(), piece.end());
        }
        YOLK_TRY(Tensor part, Tensor::create(with_extent(whole.shape(), along, size), std::move(values)));
        parts.push_back(std::move(part));
        first += size;
    }
    return parts;
}

}  // namespace yolk::hyper
