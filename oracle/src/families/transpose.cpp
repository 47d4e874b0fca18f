// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "check_tools.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/transpose.hpp"

namespace yolk::oracle {
namespace {

// In a matrix of n elements element i goes to i * rows mod (n - 1), the first and the last stay (Knuth, The Art of
// Computer Programming 1, exercise 1.3.3-12).
/// The same permutation by its cycles, in place.
std::vector<std::uint32_t> transpose_oracle(const TransposeDesc& desc, std::span<const std::uint32_t> source) {
    std::vector<std::uint32_t> out(source.begin(), source.end());
    const std::size_t size = std::size_t{desc.rows} * desc.columns;
    if (size < 2) return out;
    for (std::size_t base = 0; base < out.size(); base += size) {
        std::vector<bool> moved(size, false);
        for (std::size_t start = 1; start + 1 < size; ++start) {
            std::uint32_t carried = out[base + start];
            for (std::size_t i = start; !moved[i];) {
                moved[i] = true;
                i = i * desc.rows % (size - 1);
                std::swap(carried, out[base + i]);
            }
        }
    }
    return out;
}

class TransposeProblem final : public OperationProblem<TransposeDesc> {
   public:
    TransposeProblem(const TransposeDesc& desc, std::uint64_t seed)
        : OperationProblem(desc, std::string()), seed_(seed) {}

    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<std::uint32_t> words = source();
        Expected expected{.element = ElementType::U32, .twin = reference::transpose_twin(desc(), words)};
        for (const std::uint32_t word : transpose_oracle(desc(), words)) {
            expected.oracle.push_back({static_cast<double>(word), 0.0});
        }
        return {std::move(expected)};
    }
    [[nodiscard]] Work work() const override {
        return {.operations = 0.0, .bytes = 8.0 * desc().members * desc().rows * desc().columns};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override { return {bytes_of_values(source())}; }

   private:
    // All bit patterns, those of NaNs and denormals too.
    [[nodiscard]] std::vector<std::uint32_t> source() const {
        Draws draws(seed_);
        std::vector<std::uint32_t> words(std::size_t{desc().members} * desc().rows * desc().columns);
        for (std::uint32_t& word : words) word = draws.word();
        return words;
    }

    std::uint64_t seed_;
};

struct TransposeSize {
    std::uint32_t members, rows, columns;
};

// Empty three ways, one element, vectors, around each side of the tiles (8, 16, 32, 64), primes.
constexpr auto kTransposeSizes = std::to_array<TransposeSize>({
    {0, 3, 5},
    {3, 0, 5},
    {3, 5, 0},
    {1, 1, 1},
    {2, 1, 67},
    {2, 67, 1},
    {3, 7, 9},
    {2, 8, 8},
    {1, 9, 7},
    {1, 15, 17},
    {2, 16, 16},
    {1, 31, 33},
    {1, 32, 32},
    {1, 63, 65},
    {1, 64, 64},
    {2, 65, 63},
    {5, 13, 29},
    {1, 3, 131},
});

Problems transpose_cases(std::uint64_t seed) {
    Problems problems;
    for (const TransposeSize& size : kTransposeSizes) {
        problems.push_back(std::make_unique<TransposeProblem>(
            TransposeDesc{.members = size.members, .rows = size.rows, .columns = size.columns},
            seed + problems.size()));
    }
    return problems;
}

Problems transpose_benchmarks() {
    Problems problems;
    for (const TransposeSize& size : {TransposeSize{1, 1024, 1024}, TransposeSize{256, 64, 64}}) {
        problems.push_back(std::make_unique<TransposeProblem>(
            TransposeDesc{.members = size.members, .rows = size.rows, .columns = size.columns}, 1));
    }
    return problems;
}

std::unique_ptr<Problem> make_transpose_problem(const TransposeDesc& desc) {
    return std::make_unique<TransposeProblem>(desc, 1);
}

}  // namespace

const Family& transpose_family() noexcept {
    static constexpr Family kFamily{.name = "transpose",
                                    .exactness = "E",
                                    .cases = &transpose_cases,
                                    .benchmarks = &transpose_benchmarks,
                                    .configurations_per_case = 8,
                                    .operation = &kOperationText<TransposeDesc, &make_transpose_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
