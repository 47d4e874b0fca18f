// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/rearrange.hpp"

namespace yolk::oracle {
namespace {

std::size_t elements_per_member(const RearrangeDesc& desc) {
    std::size_t count = 1;
    for (const RearrangeDimension& dimension : desc.dimensions) count *= dimension.extent;
    return count;
}

/// From an element's number to its indices, innermost first, and to its place in the source, which is exact in double.
std::vector<Bounded> rearrange_oracle(const RearrangeDesc& desc, std::span<const std::uint32_t> source) {
    const std::size_t per_member = elements_per_member(desc);
    std::vector<Bounded> out(desc.members * per_member);
    for (std::size_t flat = 0; flat < out.size(); ++flat) {
        std::size_t rest = flat % per_member;
        double place = 0.0;
        bool is_fill = false;
        for (auto dimension = desc.dimensions.rbegin(); dimension != desc.dimensions.rend(); ++dimension) {
            const auto i = static_cast<double>(rest % dimension->extent);
            rest /= dimension->extent;
            const double index = dimension->start + i * dimension->step;
            is_fill = is_fill || index < 0.0 || index >= dimension->source_extent;
            place += index * dimension->stride;
        }
        const std::size_t first = desc.shared_source ? 0 : flat / per_member * desc.source_elements;
        out[flat].value =
            is_fill ? std::bit_cast<std::uint32_t>(desc.fill) : source[first + static_cast<std::size_t>(place)];
    }
    return out;
}

class RearrangeProblem final : public OperationProblem<RearrangeDesc> {
   public:
    explicit RearrangeProblem(const RearrangeDesc& desc, std::uint64_t seed = 1)
        : OperationProblem(desc), seed_(seed) {}

    /// Tiles in shared memory, which no CPU driver takes by default.
    [[nodiscard]] std::vector<Configuration> also_checked(const DeviceInfo& info) const override {
        const ConfigSpace<RearrangeConfig> space = space_of(info, desc());
        const RearrangeConfig staged{.tile_rows = 8, .tile_columns = 16, .staged = 1, .padding = 1};
        if (!space.check(staged)) return {};
        return {space.configuration(staged)};
    }
    [[nodiscard]] Work work() const override {
        return {.operations = 0.0, .bytes = 8.0 * static_cast<double>(elements(1))};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(Draws(seed_, 1).words(elements(0)))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {rearrange_oracle(desc(), given.in<std::uint32_t>(0))};
    }

   private:
    std::uint64_t seed_;
};

using Extents = std::vector<std::uint32_t>;
using Change = void (*)(std::vector<RearrangeDimension>&);

/// A copy of a source of these extents, changed.
RearrangeDesc rearranged(std::uint32_t members, const Extents& extents, Change change, bool shared_source = false) {
    RearrangeDesc desc{.members = members,
                       .dimensions = row_major_dimensions(extents),
                       .source_elements = 1,
                       .shared_source = shared_source,
                       .fill = -1.5F};
    for (const std::uint32_t extent : extents) desc.source_elements *= extent;
    change(desc.dimensions);
    return desc;
}

void as_it_is(std::vector<RearrangeDimension>& /*dimensions*/) {}
void swap_last(std::vector<RearrangeDimension>& d) { std::swap(d[d.size() - 1], d[d.size() - 2]); }
void reverse_order(std::vector<RearrangeDimension>& d) { std::ranges::reverse(d); }
void repeat(RearrangeDimension& d, std::uint32_t extent) { d.extent = extent, d.step = 0; }
void pad(RearrangeDimension& d, std::int32_t before, std::uint32_t after) {
    d.extent += static_cast<std::uint32_t>(before) + after;
    d.start = -before;
}
void slice(RearrangeDimension& d, std::int32_t start, std::uint32_t extent, std::int32_t step) {
    d.start = start, d.extent = extent, d.step = step;
}

// Nothing to do, copies that merge into one dimension, each of the four alone, along the last
// dimension and before it, in vectors of four, of single words, and of words apart; then together.
std::vector<RearrangeDesc> rearrange_descriptions() {
    using D = std::vector<RearrangeDimension>;
    return {
        rearranged(0, {3, 5}, &as_it_is),
        rearranged(2, {3, 0}, &as_it_is),
        rearranged(1, {1}, &as_it_is),
        rearranged(3, {5, 7}, &as_it_is),
        rearranged(3, {4, 2, 6}, &as_it_is, true),
        rearranged(2, {13, 11}, &swap_last),
        rearranged(2, {16, 12}, &swap_last),
        rearranged(1, {2, 3, 4, 5, 2}, &reverse_order),
        rearranged(2, {2, 3, 4, 2, 8}, [](D& d) { std::swap(d[0], d[2]); }),
        rearranged(3, {2, 5, 3, 7, 2}, [](D& d) { std::swap(d[1], d[3]); }),
        rearranged(2, {5, 1}, [](D& d) { repeat(d[1], 9); }),
        rearranged(2, {5, 1}, [](D& d) { repeat(d[1], 8); }),
        rearranged(3, {1, 12}, [](D& d) { repeat(d[0], 5); }),
        rearranged(
            3, {2, 1, 3, 1}, [](D& d) { repeat(d[1], 4), repeat(d[3], 4); }, true),
        rearranged(2, {7, 5}, [](D& d) { slice(d[0], 2, 3, 1), slice(d[1], 1, 2, 2); }),
        rearranged(2, {6, 16}, [](D& d) { slice(d[1], 4, 8, 1); }),
        rearranged(1, {9, 8}, [](D& d) { slice(d[0], 8, 9, -1); }),
        rearranged(1, {257}, [](D& d) { slice(d[0], 256, 257, -1); }),
        rearranged(2, {3, 5}, [](D& d) { pad(d[0], 1, 2), pad(d[1], 2, 1); }),
        rearranged(2, {3, 4, 4}, [](D& d) { pad(d[0], 2, 1); }),
        rearranged(2, {3, 8}, [](D& d) { pad(d[1], 4, 8); }),
        rearranged(2, {3, 8}, [](D& d) { pad(d[1], 3, 1); }),
        rearranged(2, {3, 5}, [](D& d) { pad(d[0], 2, 0), std::swap(d[0], d[1]), slice(d[0], 4, 3, -2); }),
        rearranged(1, {2, 3}, [](D& d) { slice(d[0], 5, 4, 1); }),
        rearranged(2, {0, 4}, [](D& d) { pad(d[0], 3, 0); }),
        rearranged(1, {63}, &as_it_is),
        rearranged(1, {65}, &as_it_is),
        rearranged(
            7, {11, 13}, [](D& d) { pad(d[1], 1, 0); }, true),
    };
}

Problems rearrange_cases(std::uint64_t seed) {
    return seeded_problems<RearrangeProblem>(rearrange_descriptions(), seed);
}

Problems rearrange_benchmarks() {
    return problems_of<RearrangeProblem>(
        {rearranged(1, {1024, 1024}, &swap_last), rearranged(256, {64, 64}, &swap_last),
         rearranged(64, {64, 256}, &swap_last), rearranged(64, {64, 1}, [](auto& d) { repeat(d[1], 256); }),
         rearranged(64, {62, 252}, [](auto& d) { pad(d[0], 1, 1), pad(d[1], 0, 4); })});
}

}  // namespace

const Family& rearrange_family() noexcept {
    static constexpr Family kFamily{.name = "rearrange",
                                    .exactness = "E",
                                    .cases = &rearrange_cases,
                                    .benchmarks = &rearrange_benchmarks,
                                    .configurations_per_case = 8,
                                    .operation = &kOperationText<RearrangeDesc, &make_problem<RearrangeProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
