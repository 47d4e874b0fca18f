// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/transpose.hpp"

namespace yolk::oracle {
namespace {

class TransposeProblem final : public Problem {
   public:
    TransposeProblem(const TransposeDesc& desc, std::uint64_t seed) : desc_(desc), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("[{}, {}, {}]", desc_.members, desc_.rows, desc_.columns);
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return transpose_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return transpose_space(info, desc_).configuration(default_transpose_config(info, desc_));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        TransposeDesc desc = desc_;
        desc.config = transpose_space(device.info(), desc_).config(configuration);
        YOLK_TRY(TransposePlan plan, plan_transpose(device, desc));
        return planned(std::move(plan),
                       [](const TransposePlan& of, std::span<const BufferView> views,
                          const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundTranspose bound, of.bind({.source = views[0], .out = views[1]}, scratch));
                           return recorded(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const std::vector<std::uint32_t> words = source();
        return {input_buffer("source", words), output_buffer("out", sizeof(std::uint32_t) * words.size())};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<std::uint32_t> words = source();
        Expected expected{.element = ElementType::U32, .twin = transpose_twin(desc_, words)};
        for (const std::uint32_t word : transpose_oracle(desc_, words)) {
            expected.oracle.push_back({static_cast<double>(word), 0.0});
        }
        return {std::move(expected)};
    }
    [[nodiscard]] Work work() const override {
        return {.operations = 0.0, .bytes = 8.0 * desc_.members * desc_.rows * desc_.columns};
    }

   private:
    // All bit patterns, those of NaNs and denormals too.
    [[nodiscard]] std::vector<std::uint32_t> source() const {
        Draws draws(seed_);
        std::vector<std::uint32_t> words(std::size_t{desc_.members} * desc_.rows * desc_.columns);
        for (std::uint32_t& word : words) word = draws.word();
        return words;
    }

    TransposeDesc desc_;
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

}  // namespace

std::unique_ptr<Problem> make_transpose_problem(const TransposeDesc& desc) {
    return std::make_unique<TransposeProblem>(desc, 1);
}

const Family& transpose_family() noexcept {
    static constexpr Family kFamily{.name = "transpose",
                                    .exactness = "E",
                                    .cases = &transpose_cases,
                                    .benchmarks = &transpose_benchmarks,
                                    .configurations_per_case = 8};
    return kFamily;
}

}  // namespace yolk::oracle
