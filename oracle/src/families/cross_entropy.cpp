// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "row_exponentials.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/cross_entropy.hpp"

namespace yolk::oracle {
namespace {

/// row(logits of the row, its target)
template <class Row>
void for_each_row(const CrossEntropyDesc& desc, const reference::CrossEntropyInputs& inputs, Row&& row) {
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t r = 0; r < desc.rows; ++r) {
            const std::size_t flat = member * desc.rows + r;
            row(std::span(inputs.logits).subspan(flat * desc.columns, desc.columns),
                inputs.targets[desc.shared_targets ? r : flat]);
        }
    }
}

/// Double precision, std::exp and std::log, pairwise sums; for rows whose maximum is finite and targets in range. The
/// tolerance follows each rounding (docs/kernels/cross_entropy.md).
std::vector<OracleValue> cross_entropy_oracle(const CrossEntropyDesc& desc,
                                              const reference::CrossEntropyInputs& inputs) {
    std::vector<OracleValue> losses;
    for_each_row(desc, inputs, [&](std::span<const float> row, std::uint32_t target) {
        const RowExponentialsOracle of = row_exponentials_oracle(row);
        const double distance = of.largest - row[target];
        const double log_sum = std::log(of.sum);
        const double value = log_sum + distance;
        if (!std::isfinite(value)) {
            losses.push_back({value, 0.0});
            return;
        }
        const double off = distance_error(distance) + 1.01 * of.sum_error + kLogError * (log_sum + of.sum_error);
        losses.push_back({value, off + kFp32Rounding * (std::abs(value) + off)});
    });
    return losses;
}

constexpr std::uint32_t kCountBefore = 5;  // what the kernel adds to

class CrossEntropyProblem final : public OperationProblem<CrossEntropyDesc> {
   public:
    CrossEntropyProblem(const CrossEntropyDesc& desc, RowInputs inputs, bool bad_targets, std::uint64_t seed)
        : OperationProblem(
              desc, fmt::format("{} logits{}", name_of(inputs), bad_targets ? ", some targets out of range" : "")),
          inputs_(inputs),
          bad_targets_(bad_targets),
          seed_(seed) {}

    /// The oracle knows nothing of targets out of range; the twin does.
    [[nodiscard]] std::vector<Expected> expected() const override {
        const reference::CrossEntropyInputs inputs = make_inputs();
        const std::uint32_t status = kCountBefore + reference::cross_entropy_bad_targets(desc(), inputs);
        std::vector<OracleValue> oracle;
        if (!bad_targets_) oracle = cross_entropy_oracle(desc(), inputs);
        return {{.twin = words_of(reference::cross_entropy_twin(desc(), inputs)), .oracle = std::move(oracle)},
                {.element = ElementType::U32, .twin = {status}}};
    }
    /// An exponential of 24 operations and a few more.
    [[nodiscard]] Work work() const override {
        const double rows = static_cast<double>(desc().members) * desc().rows;
        return {.operations = 30.0 * rows * desc().columns, .bytes = 4.0 * rows * (desc().columns + 2.0)};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const reference::CrossEntropyInputs inputs = make_inputs();
        return {bytes_of_values(inputs.logits), bytes_of_values(inputs.targets),
                bytes_of_values(std::vector<std::uint32_t>{kCountBefore})};
    }

   private:
    [[nodiscard]] reference::CrossEntropyInputs make_inputs() const {
        const std::size_t rows = std::size_t{desc().members} * desc().rows;
        reference::CrossEntropyInputs inputs{.logits = row_inputs(seed_, rows * desc().columns, inputs_),
                                             .targets = {}};
        Draws draws(seed_, desc().columns);
        inputs.targets.resize(desc().shared_targets ? desc().rows : rows);
        for (std::uint32_t& target : inputs.targets) {
            target = draws.below(desc().columns);
            if (bad_targets_ && draws.below(2) == 0) target = draws.below(2) == 0 ? desc().columns : 0xFFFFFFFFU;
        }
        return inputs;
    }

    RowInputs inputs_;
    bool bad_targets_;
    std::uint64_t seed_;
};

struct CrossEntropyCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
    bool bad_targets = false;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; scales, masked logits.
constexpr auto kCrossEntropyCases = std::to_array<CrossEntropyCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {2, 3, 2, RowInputs::Ties},
    {2, 5, 31, RowInputs::Masked},
    {1, 7, 32, RowInputs::Plain},
    {3, 3, 33, RowInputs::Steep},
    {1, 5, 65, RowInputs::Huge},
    {2, 2, 1021, RowInputs::Masked},
    {1, 2, 4099, RowInputs::Plain},
    {257, 3, 10, RowInputs::Plain},
    {2, 4, 40, RowInputs::Tiny},
    {5, 17, 7, RowInputs::Plain, true},
    {3, 9, 100, RowInputs::Masked, true},
});

Problems cross_entropy_cases(std::uint64_t seed) {
    Problems problems;
    for (const CrossEntropyCase& c : kCrossEntropyCases) {
        for (const bool shared : {false, true}) {
            const CrossEntropyDesc desc{
                .members = c.members, .rows = c.rows, .columns = c.columns, .shared_targets = shared};
            problems.push_back(std::make_unique<CrossEntropyProblem>(desc, c.inputs, c.bad_targets, seed));
        }
    }
    return problems;
}

Problems cross_entropy_benchmarks() {
    Problems problems;
    for (const auto& [members, rows, columns] :
         {std::array{4096U, 16U, 10U}, std::array{64U, 64U, 256U}, std::array{16U, 16U, 4096U}}) {
        const CrossEntropyDesc desc{.members = members, .rows = rows, .columns = columns, .shared_targets = true};
        problems.push_back(std::make_unique<CrossEntropyProblem>(desc, RowInputs::Plain, false, 1));
    }
    return problems;
}

std::unique_ptr<Problem> make_cross_entropy_problem(const CrossEntropyDesc& desc) {
    return std::make_unique<CrossEntropyProblem>(desc, RowInputs::Plain, false, 1);
}

Problems large_cross_entropies() {
    Problems problems;
    for (const auto& [rows, columns] : kLargeRows)
        problems.push_back(make_cross_entropy_problem({.rows = rows, .columns = columns}));
    return problems;
}

}  // namespace

const Family& cross_entropy_family() noexcept {
    static constexpr Family kFamily{.name = "cross_entropy",
                                    .exactness = "P",
                                    .cases = &cross_entropy_cases,
                                    .benchmarks = &cross_entropy_benchmarks,
                                    .configurations_per_case = 4,
                                    .operation = &kOperationText<CrossEntropyDesc, &make_cross_entropy_problem>,
                                    .large = &large_cross_entropies};
    return kFamily;
}

}  // namespace yolk::oracle
