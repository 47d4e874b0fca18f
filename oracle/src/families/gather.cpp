// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "check_tools.hpp"
#include "ids.hpp"
#include "yolk/gather.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

/// By the rows and not by the ids: each row goes where the ids, sorted, ask for it. What asks for no row gets zeros.
std::vector<Bounded> gather_oracle(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                   std::span<const std::uint32_t> ids) {
    std::vector<Bounded> out(std::size_t{desc.members} * desc.id_count * desc.columns);
    for (std::size_t m = 0; m < desc.members; ++m) {
        std::vector<std::pair<std::uint32_t, std::size_t>> asked;
        for (std::size_t i = 0; i < desc.id_count; ++i)
            asked.emplace_back(ids[desc.shared_ids ? i : m * desc.id_count + i], i);
        std::ranges::sort(asked);
        auto next = asked.begin();
        for (std::size_t row = 0; row < desc.table_rows; ++row) {
            const std::size_t of = desc.shared_table ? row : m * desc.table_rows + row;
            for (; next != asked.end() && next->first == row; ++next) {
                for (std::size_t c = 0; c < desc.columns; ++c)
                    out[(m * desc.id_count + next->second) * desc.columns + c].value = table[of * desc.columns + c];
            }
        }
    }
    return out;
}

class GatherProblem final : public OperationProblem<GatherDesc> {
   public:
    explicit GatherProblem(const GatherDesc& desc, std::uint64_t seed = 1) : OperationProblem(desc), seed_(seed) {}

    [[nodiscard]] Work work() const override {
        return {.operations = 0.0,
                .bytes = 8.0 * static_cast<double>(elements(2)) + 4.0 * static_cast<double>(elements(1))};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(Draws(seed_, 1).words(elements(0))),
                bytes_of_values(draw_ids(Draws(seed_, 2), elements(1), desc().table_rows)),
                bytes_of_values(std::vector<std::uint32_t>{kStatusBefore})};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {gather_oracle(desc(), given.in<std::uint32_t>(0), given.in<std::uint32_t>(1))};
    }

   private:
    std::uint64_t seed_;
};

// Empty in each way, no rows at all, one element, columns that quads divide and that they do not, around the default
// workgroup's 64 and 256 elements, each way of sharing.
constexpr std::array kGatherCases{
    GatherDesc{.members = 0, .table_rows = 3, .columns = 5, .id_count = 2},
    GatherDesc{.members = 2, .table_rows = 3, .columns = 0, .id_count = 2},
    GatherDesc{.members = 2, .table_rows = 3, .columns = 5, .id_count = 0},
    GatherDesc{.members = 2, .table_rows = 0, .columns = 5, .id_count = 3},
    GatherDesc{.members = 1, .table_rows = 1, .columns = 1, .id_count = 1},
    GatherDesc{.members = 3, .table_rows = 7, .columns = 5, .id_count = 11},
    GatherDesc{.members = 3, .table_rows = 7, .columns = 8, .id_count = 11, .shared_table = true},
    GatherDesc{.members = 3, .table_rows = 7, .columns = 3, .id_count = 11, .shared_ids = true},
    GatherDesc{.members = 5, .table_rows = 13, .columns = 4, .id_count = 9, .shared_table = true, .shared_ids = true},
    GatherDesc{.members = 1, .table_rows = 3, .columns = 63, .id_count = 1},
    GatherDesc{.members = 1, .table_rows = 3, .columns = 64, .id_count = 1},
    GatherDesc{.members = 1, .table_rows = 3, .columns = 65, .id_count = 1},
    GatherDesc{.members = 1, .table_rows = 5, .columns = 4, .id_count = 65},
    GatherDesc{.members = 2, .table_rows = 100, .columns = 1, .id_count = 257},
};

Problems gather_cases(std::uint64_t seed) { return seeded_problems<GatherProblem>(kGatherCases, seed); }

Problems gather_benchmarks() {
    return problems_of<GatherProblem>(
        {{.members = 64, .table_rows = 256, .columns = 64, .id_count = 64, .shared_table = true}});
}

}  // namespace

const Family& gather_family() noexcept {
    static constexpr Family kFamily{.name = "gather",
                                    .exactness = "E",
                                    .cases = &gather_cases,
                                    .benchmarks = &gather_benchmarks,
                                    .configurations_per_case = 8,
                                    .operation = &kOperationText<GatherDesc, &make_problem<GatherProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
