// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "check_tools.hpp"
#include "ids.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/scatter.hpp"

namespace yolk::oracle {
namespace {

/// In double, each row's ids looked up from the last (assign) or summed pairwise (add). The tolerance of k additions
/// whose operands have the magnitudes a_j: k roundings of 2^-24 of the sum of a_j, and what their 2 k flushes take.
std::vector<Bounded> scatter_oracle(const ScatterDesc& desc, std::span<const float> target,
                                    std::span<const std::uint32_t> ids, std::span<const float> values) {
    std::vector<Bounded> out;
    // Of a member, by row and then by their order.
    std::vector<std::pair<std::uint32_t, std::size_t>> given;
    const auto first_of = [&given](std::size_t row) {
        return std::ranges::lower_bound(given, row, {}, [](const auto& entry) { return std::size_t{entry.first}; });
    };
    for (std::size_t flat = 0; flat < target.size(); ++flat) {
        const std::size_t c = flat % desc.columns;
        const std::size_t row = flat / desc.columns % desc.target_rows;
        const std::size_t m = flat / desc.columns / desc.target_rows;
        if (c == 0 && row == 0) {
            given.clear();
            for (std::size_t i = 0; i < desc.id_count; ++i)
                given.emplace_back(ids[desc.shared_ids ? i : m * desc.id_count + i], i);
            std::ranges::sort(given);
        }
        std::vector<double> terms{target[flat]};
        for (auto entry = first_of(row); entry != given.end() && entry->first == row; ++entry) {
            const std::size_t i = entry->second;
            terms.push_back(values[(desc.shared_values ? i : m * desc.id_count + i) * desc.columns + c]);
        }
        if (desc.mode == ScatterMode::Assign) {
            out.push_back({terms.back(), 0.0});
            continue;
        }
        const auto additions = static_cast<double>(terms.size() - 1);
        const double value = pairwise_sum(terms);
        for (double& term : terms) term = std::abs(term);
        // The partial sums themselves are off by less than one part in 2^20 for tables as small as these.
        const double rounding = (1.0 + 0x1p-20) * kFp32Rounding * additions * pairwise_sum(terms);
        out.push_back({value, rounding + 2.0 * additions * kProductFloor});
    }
    return out;
}

class ScatterProblem final : public OperationProblem<ScatterDesc> {
   public:
    explicit ScatterProblem(const ScatterDesc& desc, std::uint64_t seed = 1) : OperationProblem(desc), seed_(seed) {}

    [[nodiscard]] Work work() const override {
        const double moved = static_cast<double>(desc().members) * desc().id_count * desc().columns;
        return {
            .operations = desc().mode == ScatterMode::Add ? moved : 0.0,
            .bytes = (desc().mode == ScatterMode::Add ? 12.0 : 8.0) * moved + 4.0 * static_cast<double>(elements(1))};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(draw(elements(0), 1)),
                bytes_of_values(draw_ids(Draws(seed_, 2), elements(1), desc().target_rows)),
                bytes_of_values(draw(elements(2), 3)), bytes_of_values(std::vector<std::uint32_t>{kStatusBefore})};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {scatter_oracle(desc(), given.in<float>(0), given.in<std::uint32_t>(1), given.in<float>(2))};
    }

   private:
    // Of several sizes, so that sums round; some that are flushed, some that cancel.
    [[nodiscard]] std::vector<float> draw(std::size_t count, std::uint32_t stream) const {
        constexpr std::array kScales{1.0F, 1.0F, 100.0F, 0x1p-30F, 0x1p-99F, 0x1p-110F};
        Draws draws(seed_, stream);
        std::vector<float> values(count);
        for (float& value : values) {
            value = draws.uniform(-1.0F, 1.0F) * draws.one_of(kScales);
            if (draws.below(8) == 0) value = draws.below(2) == 0 ? 1.0F : -1.0F;
        }
        return values;
    }
    std::uint64_t seed_;
};

// Empty in each way, no rows at all, one element, columns that quads divide and that they do not, around the default
// workgroup's 64 columns, around 16, 64 and 256 ids of a dispatch, each way of sharing.
constexpr std::array kScatterCases{
    ScatterDesc{.members = 0, .target_rows = 3, .columns = 5, .id_count = 2},
    ScatterDesc{.members = 2, .target_rows = 3, .columns = 0, .id_count = 2},
    ScatterDesc{.members = 2, .target_rows = 3, .columns = 5, .id_count = 0},
    ScatterDesc{.members = 2, .target_rows = 0, .columns = 5, .id_count = 3},
    ScatterDesc{.members = 1, .target_rows = 1, .columns = 1, .id_count = 1},
    ScatterDesc{.members = 1, .target_rows = 1, .columns = 1, .id_count = 17},
    ScatterDesc{.members = 3, .target_rows = 7, .columns = 5, .id_count = 11},
    ScatterDesc{.members = 3, .target_rows = 7, .columns = 8, .id_count = 16, .shared_ids = true},
    ScatterDesc{.members = 3, .target_rows = 7, .columns = 3, .id_count = 15, .shared_values = true},
    ScatterDesc{
        .members = 5, .target_rows = 13, .columns = 4, .id_count = 31, .shared_ids = true, .shared_values = true},
    ScatterDesc{.members = 1, .target_rows = 3, .columns = 63, .id_count = 5},
    ScatterDesc{.members = 1, .target_rows = 3, .columns = 65, .id_count = 5},
    ScatterDesc{.members = 2, .target_rows = 5, .columns = 65, .id_count = 65},
    ScatterDesc{.members = 2, .target_rows = 5, .columns = 12, .id_count = 257},
};

Problems scatter_cases(std::uint64_t seed) {
    Problems problems;
    for (const ScatterMode mode : {ScatterMode::Assign, ScatterMode::Add}) {
        for (ScatterDesc desc : kScatterCases) {
            desc.mode = mode;
            problems.push_back(std::make_unique<ScatterProblem>(desc, seed + problems.size()));
        }
    }
    return problems;
}

Problems scatter_benchmarks() {
    return problems_of<ScatterProblem>(
        {{.members = 64, .target_rows = 256, .columns = 64, .id_count = 64, .mode = ScatterMode::Add}});
}

}  // namespace

const Family& scatter_family() noexcept {
    static constexpr Family kFamily{.name = "scatter",
                                    .exactness = "E+P",
                                    .cases = &scatter_cases,
                                    .benchmarks = &scatter_benchmarks,
                                    .configurations_per_case = 6,
                                    .operation = &kOperationText<ScatterDesc, &make_problem<ScatterProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
