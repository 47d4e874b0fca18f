// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "concat_oracle.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/problems.hpp"
#include "yolk/reference/concat.hpp"

namespace yolk::oracle {
namespace {

std::vector<OracleValue> exact_values(const reference::Words& words) {
    std::vector<OracleValue> values;
    for (const std::uint32_t word : words) values.push_back({static_cast<double>(word), 0.0});
    return values;
}

/// Concat or split; the buffers are the parts, then the whole.
class ConcatProblem final : public Problem {
   public:
    ConcatProblem(ConcatDesc desc, bool split, std::uint64_t seed)
        : desc_(std::move(desc)), split_(split), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        std::string extents;
        for (const ConcatPart& part : desc_.parts) {
            extents += fmt::format("{}{}{}", extents.empty() ? "" : "+", part.extent, part.shared ? " shared" : "");
        }
        return fmt::format("{} [{}, {}, {}, {}]", split_ ? "split" : "concat", desc_.members, desc_.outer, extents,
                           desc_.inner);
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return concat_space(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return concat_space(info, desc_).configuration(default_concat_config(info, desc_));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        ConcatDesc desc = desc_;
        desc.config = concat_space(device.info(), desc_).config(configuration);
        YOLK_TRY(ConcatPlan plan, split_ ? plan_split(device, desc) : plan_concat(device, desc));
        return planned(std::move(plan),
                       [](const ConcatPlan& of, std::span<const BufferView> views,
                          const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundConcat bound,
                                    of.bind({.whole = views.back(), .parts = views.first(views.size() - 1)}, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        std::vector<ProblemBuffer> buffers;
        const std::vector<reference::Words> values = parts();
        for (std::size_t p = 0; p < values.size(); ++p) {
            const std::string name = fmt::format("parts[{}]", p);
            const std::uint64_t size_bytes = sizeof(std::uint32_t) * values[p].size();
            buffers.push_back(split_ ? output_buffer(name, size_bytes) : input_buffer(name, values[p]));
        }
        const reference::Words whole = reference::concat_twin(desc_, values);
        buffers.push_back(split_ ? input_buffer("whole", whole)
                                 : output_buffer("whole", sizeof(std::uint32_t) * whole.size()));
        return buffers;
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<reference::Words> values = parts();
        if (!split_) {
            return {{.element = ElementType::U32,
                     .twin = reference::concat_twin(desc_, values),
                     .oracle = whole_oracle(values)}};
        }
        // Splitting undoes concatenating.
        std::vector<Expected> expected;
        const std::vector<reference::Words> twins = reference::split_twin(desc_, reference::concat_twin(desc_, values));
        for (std::size_t p = 0; p < values.size(); ++p) {
            expected.push_back({.element = ElementType::U32, .twin = twins[p], .oracle = exact_values(values[p])});
        }
        return expected;
    }
    [[nodiscard]] Work work() const override {
        double extent = 0.0;
        for (const ConcatPart& part : desc_.parts) extent += part.extent;
        return {.operations = 0.0, .bytes = 8.0 * desc_.members * desc_.outer * desc_.inner * extent};
    }

   private:
    [[nodiscard]] std::vector<reference::Words> parts() const {
        Draws draws(seed_);
        std::vector<reference::Words> parts;
        for (const ConcatPart& part : desc_.parts) {
            const std::size_t members = part.shared ? 1 : desc_.members;
            reference::Words words(members * desc_.outer * part.extent * desc_.inner);
            for (std::uint32_t& word : words) word = draws.word();
            parts.push_back(std::move(words));
        }
        return parts;
    }
    [[nodiscard]] std::vector<OracleValue> whole_oracle(const std::vector<reference::Words>& values) const {
        std::size_t extent = 0;
        for (const ConcatPart& part : desc_.parts) extent += part.extent;
        reference::Words words;
        for (std::size_t m = 0; m < desc_.members; ++m) {
            for (std::size_t o = 0; o < desc_.outer; ++o) {
                for (std::size_t along = 0; along < extent; ++along) {
                    for (std::size_t i = 0; i < desc_.inner; ++i) {
                        words.push_back(concat_oracle(desc_, values, m, o, along, i));
                    }
                }
            }
        }
        return exact_values(words);
    }

    ConcatDesc desc_;
    bool split_;
    std::uint64_t seed_;
};

// Empty in each way, one element, one part, runs that quads divide and runs that they do not, parts of nothing, shared
// parts, more parts than most have, around the default workgroup's 64 and 256 elements.
std::vector<ConcatDesc> case_descs() {
    return {
        {.members = 0, .outer = 2, .inner = 3, .parts = {{2}, {1}}},
        {.members = 2, .outer = 0, .inner = 3, .parts = {{2}, {1, true}}},
        {.members = 2, .outer = 2, .inner = 0, .parts = {{2}, {1}}},
        {.members = 2, .outer = 2, .inner = 3, .parts = {{0}, {0}}},
        {.parts = {{1}}},
        {.members = 3, .outer = 5, .inner = 7, .parts = {{2}}},
        {.members = 3, .outer = 5, .inner = 1, .parts = {{2}, {0}, {3}}},
        {.members = 2, .outer = 3, .inner = 4, .parts = {{5}, {2}, {1}}},
        {.members = 2, .outer = 1, .inner = 1, .parts = {{63}, {65}, {64}}},
        {.members = 1, .outer = 2, .inner = 1, .parts = {{256}, {4}, {252}}},
        {.members = 4, .outer = 3, .inner = 2, .parts = {{3, true}, {5}, {1, true}}},
        {.members = 3, .outer = 2, .inner = 8, .parts = {{1}, {2, true}}},
        {.members = 2, .outer = 2, .inner = 1, .parts = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}},
        {.members = 7, .outer = 11, .inner = 3, .parts = {{2}, {5}}},
    };
}

Problems concat_cases(std::uint64_t seed) {
    Problems problems;
    for (ConcatDesc& desc : case_descs()) {
        problems.push_back(std::make_unique<ConcatProblem>(desc, false, seed + problems.size()));
        for (ConcatPart& part : desc.parts) part.shared = false;
        problems.push_back(std::make_unique<ConcatProblem>(desc, true, seed + problems.size()));
    }
    return problems;
}

Problems concat_benchmarks() {
    Problems problems;
    for (const bool split : {false, true}) {
        problems.push_back(std::make_unique<ConcatProblem>(
            ConcatDesc{.members = 64, .outer = 64, .inner = 1, .parts = {{128}, {64}, {64}}}, split, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_concat_problem(const ConcatDesc& desc) {
    return std::make_unique<ConcatProblem>(desc, false, 1);
}

const Family& concat_family() noexcept {
    static constexpr Family kFamily{.name = "concat",
                                    .exactness = "E",
                                    .cases = &concat_cases,
                                    .benchmarks = &concat_benchmarks,
                                    .configurations_per_case = 5};
    return kFamily;
}

}  // namespace yolk::oracle
