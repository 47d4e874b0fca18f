// SPDX-License-Identifier: Apache-2.0
#include "product_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "half_values.hpp"
#include "matmul_i8_oracle.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"
#include "yolk/internal/reference/formulas/matmul.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/twin.hpp"

namespace yolk::oracle {
namespace {

/// Numbers of a view as they lie in memory.
class Numbers {
   public:
    Numbers(std::span<const std::byte> bytes, FloatFormat format)
        : bytes_(bytes), halves_(format == FloatFormat::F32 ? nullptr : &half_values(format)) {}
    [[nodiscard]] float operator[](std::size_t index) const noexcept {
        if (halves_ == nullptr) {
            float value = 0.0F;
            std::memcpy(&value, bytes_.data() + sizeof(value) * index, sizeof(value));
            return value;
        }
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes_.data() + sizeof(bits) * index, sizeof(bits));
        return (*halves_)[bits];
    }

   private:
    std::span<const std::byte> bytes_;
    const HalfValues* halves_;
};

std::span<const std::byte> contents_of(std::span<const ProblemBuffer> buffers, const char* name) {
    const auto found = std::ranges::find(buffers, name, &ProblemBuffer::name);
    return found == buffers.end() ? std::span<const std::byte>() : std::span(found->contents);
}

/// Whether rows of `out` lie one behind the other, and its matrices, too.
template <class Layout, class Desc>
bool is_dense(const Layout& out, const Desc& d) {
    return out.offset == 0 && out.stride == d.n && (d.batch == 1 || out.batch_stride == std::uint64_t{d.m} * d.n);
}

template <class Desc>
bool is_empty(const Desc& d) {
    return d.batch == 0 || d.m == 0 || d.n == 0 || d.k == 0;
}

struct Place {
    std::uint32_t z = 0, row = 0, column = 0;
};
template <class Desc>
Place place_of(const Desc& d, std::uint64_t element) {
    return {static_cast<std::uint32_t>(element / d.n / d.m), static_cast<std::uint32_t>(element / d.n % d.m),
            static_cast<std::uint32_t>(element % d.n)};
}

class MatmulElements final : public ElementOracle {
   public:
    MatmulElements(const MatmulDesc& desc, std::span<const ProblemBuffer> buffers)
        : d_(desc),
          a_(contents_of(buffers, "a"), desc.a.format),
          b_(contents_of(buffers, "b"), desc.b.format),
          residual_(contents_of(buffers, "residual"), FloatFormat::F32) {}

    [[nodiscard]] std::uint64_t count() const override { return std::uint64_t{d_.batch} * d_.m * d_.n; }
    [[nodiscard]] ElementBits bits() const override {
        if (!is_narrow()) return ElementBits::F32;
        return d_.out.format == FloatFormat::F16 ? ElementBits::F16 : ElementBits::BF16;
    }
    [[nodiscard]] Bounded at(std::uint64_t element) const override {
        const One one(*this, place_of(d_, element));
        Bounded value = one.bounds();
        if (is_narrow()) value.tolerance += rounding_of_half(d_.out.format, value);
        return value;
    }
    [[nodiscard]] std::optional<std::uint32_t> twin_at(std::uint64_t element) const override {
        if (d_.determinism != Determinism::Exact) return std::nullopt;
        const One one(*this, place_of(d_, element));
        std::uint32_t word = 0;
        reference::twin_of(one.desc, {one.row, one.column, {}, one.residual, std::span(&word, 1)});
        return word;
    }
    /// As the formula's tolerance, with what bounds it for all elements: a sum's magnitudes are at most the product of
    /// the lengths of its row and column (Cauchy and Schwarz), and what the operand rule drops is at most its floor
    /// times their magnitudes, themselves at most sqrt(k) times the lengths; twice that of a term that loses both.
    [[nodiscard]] double most_apart() const override {
        if (d_.determinism == Determinism::Exact) return 0.0;
        const double row = longest(d_.a, a_, d_.m, true);
        const double column = longest(d_.b, b_, d_.n, false);
        const double k = d_.k;
        const double roundings = (k + 2.0) * kFp32Rounding;
        Bounded largest{row * column, roundings / (1.0 - roundings) * row * column +
                                          2.02 * kOperandFloor * std::sqrt(k) * (row + column) + 1.01 * k * 0x1p-126};
        if (d_.has_residual) {
            largest.value += largest_residual();
            largest.tolerance +=
                kFp32Rounding * (largest.tolerance + largest.value + largest.tolerance) + kOperandFloor;
        }
        if (is_narrow()) largest.tolerance += rounding_of_half(d_.out.format, largest);
        return 2.0 * largest.tolerance;
    }

   private:
    /// A product of one row and one column.
    struct One {
        One(const MatmulElements& of, const Place& at) : row(of.d_.k), column(of.d_.k) {
            const MatmulDesc& d = of.d_;
            for (std::uint32_t k = 0; k < d.k; ++k) {
                row[k] = of.a_[reference::element_of(d, d.a, at.z, at.row, k)];
                column[k] = of.b_[reference::element_of(d, d.b, at.z, k, at.column)];
            }
            if (d.has_residual)
                residual = {of.residual_[reference::element_of(d, d.residual, at.z, at.row, at.column)]};
            desc = {.m = 1, .n = 1, .k = d.k, .has_residual = d.has_residual, .determinism = d.determinism};
            desc.out.format = d.out.format;
        }
        [[nodiscard]] Bounded bounds() const {
            const std::vector<Bounded> a(row.begin(), row.end()), b(column.begin(), column.end()),
                added(residual.begin(), residual.end());
            Bounded value;
            reference::formula<Bounded>(desc, {a, b, {}, added, std::span(&value, 1)});
            return value;
        }
        MatmulDesc desc;
        std::vector<float> row, column, residual;
    };
    [[nodiscard]] bool is_narrow() const noexcept { return d_.out.format != FloatFormat::F32; }
    /// The greatest length of a's rows or b's columns, in all matrices.
    [[nodiscard]] double longest(const MatrixLayout& layout, const Numbers& numbers, std::uint32_t lines,
                                 bool rows) const {
        double most = 0.0;
        for (std::uint32_t z = 0; z < (layout.batch_stride == 0 ? 1 : d_.batch); ++z) {
            std::vector<double> squares(lines, 0.0);
            // As they are stored: neighbours in memory one after the other.
            const bool line_by_line = rows != layout.transposed;
            const std::uint32_t outer = line_by_line ? lines : d_.k, inner = line_by_line ? d_.k : lines;
            for (std::uint32_t i = 0; i < outer; ++i) {
                for (std::uint32_t j = 0; j < inner; ++j) {
                    const std::uint32_t line = line_by_line ? i : j, k = line_by_line ? j : i;
                    const double value = numbers[rows ? reference::element_of(d_, layout, z, line, k)
                                                      : reference::element_of(d_, layout, z, k, line)];
                    squares[line] += value * value;
                }
            }
            most = std::max(most, *std::ranges::max_element(squares));
        }
        return std::sqrt(most);
    }
    [[nodiscard]] double largest_residual() const {
        double largest = 0.0;
        for (std::uint64_t element = 0; element < count(); ++element) {
            const Place at = place_of(d_, element);
            const float value = residual_[reference::element_of(d_, d_.residual, at.z, at.row, at.column)];
            largest = std::max(largest, std::abs(double{value}));
        }
        return largest;
    }

    MatmulDesc d_;
    Numbers a_, b_, residual_;
};

class MatmulI8Elements final : public ElementOracle {
   public:
    MatmulI8Elements(const MatmulI8Desc& desc, std::span<const ProblemBuffer> buffers)
        : d_(desc), a_(contents_of(buffers, "a")), b_(contents_of(buffers, "b")) {}

    [[nodiscard]] std::uint64_t count() const override { return std::uint64_t{d_.batch} * d_.m * d_.n; }
    [[nodiscard]] ElementBits bits() const override { return ElementBits::I32; }
    [[nodiscard]] Bounded at(std::uint64_t element) const override {
        const One one(*this, place_of(d_, element));
        return matmul_i8_oracle(one.desc, one.row, one.column)[0];
    }
    [[nodiscard]] std::optional<std::uint32_t> twin_at(std::uint64_t element) const override {
        const One one(*this, place_of(d_, element));
        std::uint32_t word = 0;
        reference::twin_of(one.desc, {one.row, one.column, std::span(&word, 1)});
        return word;
    }
    [[nodiscard]] double most_apart() const override { return 0.0; }

   private:
    struct One {
        One(const MatmulI8Elements& of, const Place& at)
            : desc{.m = 1, .n = 1, .k = of.d_.k}, row((of.d_.k + 3) / 4 * 4), column(row.size()) {
            const auto take = [&](std::vector<std::int8_t>& to, std::span<const std::byte> from,
                                  const RowsLayout& layout, std::uint32_t line) {
                std::memcpy(to.data(), from.data() + reference::element_of(layout, at.z, line, 0), of.d_.k);
            };
            take(row, of.a_, of.d_.a, at.row);
            take(column, of.b_, of.d_.b, at.column);
        }
        MatmulI8Desc desc;
        std::vector<std::int8_t> row, column;
    };
    MatmulI8Desc d_;
    std::span<const std::byte> a_, b_;
};

}  // namespace

std::unique_ptr<const ElementOracle> product_elements(const MatmulDesc& desc, std::span<const ProblemBuffer> buffers) {
    const bool is_plain = desc.inner_batch == 1 && !desc.has_bias && desc.activation == Activation::Identity;
    if (is_empty(desc) || !is_dense(desc.out, desc) || !is_plain) return nullptr;
    return std::make_unique<MatmulElements>(desc, buffers);
}

std::unique_ptr<const ElementOracle> product_elements(const MatmulI8Desc& desc,
                                                      std::span<const ProblemBuffer> buffers) {
    if (is_empty(desc) || !is_dense(desc.out, desc)) return nullptr;
    return std::make_unique<MatmulI8Elements>(desc, buffers);
}

double rounding_of_half(FloatFormat format, const Bounded& value) noexcept {
    const bool f16 = format == FloatFormat::F16;
    return (std::abs(value.value) + value.tolerance) * (f16 ? 0x1p-11 : 0x1p-8) + (f16 ? 0x1p-25 : 0x1p-134);
}

}  // namespace yolk::oracle
