// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "ids.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/gather.hpp"

namespace yolk::oracle {
namespace {

class ScatterProblem final : public Problem {
   public:
    ScatterProblem(const ScatterDesc& desc, std::uint64_t seed) : desc_(desc), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} {} ids into {} rows of {}, {} members{}{}",
                           desc_.mode == ScatterMode::Add ? "add" : "assign", desc_.id_count, desc_.target_rows,
                           desc_.columns, desc_.members, desc_.shared_ids ? ", shared ids" : "",
                           desc_.shared_values ? ", shared values" : "");
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return scatter_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return scatter_space(info, desc_).configuration(default_scatter_config(info, desc_));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        ScatterDesc desc = desc_;
        desc.config = scatter_space(device.info(), desc_).config(configuration);
        YOLK_TRY(ScatterPlan plan, plan_scatter(device, desc));
        return planned(std::move(plan),
                       [](const ScatterPlan& of, std::span<const BufferView> views,
                          const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           const ScatterViews all{
                               .target = views[0], .ids = views[1], .values = views[2], .status = views[3]};
                           YOLK_TRY(BoundScatter bound, of.bind(all, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        return {in_out_buffer("target", target()), input_buffer("ids", ids()), input_buffer("values", values()),
                in_out_buffer("status", std::vector<std::uint32_t>{kStatusBefore})};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<std::uint32_t> list = ids();
        const std::vector<float> before = target(), added = values();
        const std::uint32_t counted =
            desc_.columns == 0 ? 0 : count_out_of_range(list, desc_.target_rows, desc_.shared_ids ? desc_.members : 1);
        return {{.twin = words_of(scatter_twin(desc_, before, list, added)),
                 .oracle = scatter_oracle(desc_, before, list, added)},
                {.element = ElementType::U32, .twin = {kStatusBefore + counted}}};
    }
    [[nodiscard]] Work work() const override {
        const double moved = static_cast<double>(desc_.members) * desc_.id_count * desc_.columns;
        return {.operations = desc_.mode == ScatterMode::Add ? moved : 0.0,
                .bytes = (desc_.mode == ScatterMode::Add ? 12.0 : 8.0) * moved + 4.0 * list_count()};
    }

   private:
    [[nodiscard]] std::uint32_t list_count() const { return (desc_.shared_ids ? 1 : desc_.members) * desc_.id_count; }
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
    [[nodiscard]] std::vector<float> target() const {
        return draw(std::size_t{desc_.members} * desc_.target_rows * desc_.columns, 1);
    }
    [[nodiscard]] std::vector<std::uint32_t> ids() const {
        return draw_ids(Draws(seed_, 2), list_count(), desc_.target_rows);
    }
    [[nodiscard]] std::vector<float> values() const {
        return draw(std::size_t{desc_.shared_values ? 1 : desc_.members} * desc_.id_count * desc_.columns, 3);
    }

    ScatterDesc desc_;
    std::uint64_t seed_;
};

// Empty in each way, no rows at all, one element, columns that quads divide and that they do not, around the default
// workgroup's 64 columns, around 16 and 256 ids of a dispatch, each way of sharing.
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
    Problems problems;
    problems.push_back(std::make_unique<ScatterProblem>(
        ScatterDesc{.members = 64, .target_rows = 256, .columns = 64, .id_count = 64, .mode = ScatterMode::Add}, 1));
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_scatter_problem(const ScatterDesc& desc) {
    return std::make_unique<ScatterProblem>(desc, 1);
}

const Family& scatter_family() noexcept {
    static constexpr Family kFamily{.name = "scatter",
                                    .exactness = "E+P",
                                    .cases = &scatter_cases,
                                    .benchmarks = &scatter_benchmarks,
                                    .configurations_per_case = 6};
    return kFamily;
}

}  // namespace yolk::oracle
