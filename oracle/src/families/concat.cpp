// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "check_tools.hpp"
#include "yolk/concat.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

using Words = std::vector<std::uint32_t>;

OracleValues exact_values(const Words& words) {
    OracleValues values;
    for (const std::uint32_t word : words) values.push_back({static_cast<double>(word), 0.0});
    return values;
}

/// The element of the whole at these coordinates, looked up in the parts.
std::uint32_t concat_oracle(const ConcatDesc& desc, const std::vector<Words>& parts, std::size_t member,
                            std::size_t outer, std::size_t along, std::size_t inner) {
    std::size_t p = 0;
    for (; along >= desc.parts[p].extent; ++p) along -= desc.parts[p].extent;
    const std::size_t row = desc.parts[p].shared ? outer : member * desc.outer + outer;
    return parts[p][(row * desc.parts[p].extent + along) * desc.inner + inner];
}

class ConcatProblem final : public OperationProblem<ConcatDesc> {
   public:
    explicit ConcatProblem(ConcatDesc desc, std::uint64_t seed = 1) : OperationProblem(std::move(desc)), seed_(seed) {}

    [[nodiscard]] Work work() const override {
        double extent = 0.0;
        for (const ConcatPart& part : desc().parts) extent += part.extent;
        return {.operations = 0.0, .bytes = 8.0 * desc().members * desc().outer * desc().inner * extent};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        if (desc().split) return {bytes_of_values(whole())};
        std::vector<ByteVector> all;
        for (const Words& words : parts()) all.push_back(bytes_of_values(words));
        return all;
    }
    /// Splitting undoes concatenating.
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                   const HostViews& /*made*/) const override {
        if (!desc().split) return {exact_values(whole())};
        std::vector<OracleValues> all;
        for (const Words& words : parts()) all.push_back(exact_values(words));
        return all;
    }
    [[nodiscard]] ElementType element(const ViewShape& /*shape*/) const override { return ElementType::U32; }

   private:
    [[nodiscard]] std::vector<Words> parts() const {
        Draws draws(seed_);
        std::vector<Words> parts;
        for (const ConcatPart& part : desc().parts) {
            const std::size_t members = part.shared ? std::min(desc().members, 1U) : desc().members;
            parts.push_back(draws.words(members * desc().outer * part.extent * desc().inner));
        }
        return parts;
    }
    [[nodiscard]] Words whole() const {
        const std::vector<Words> values = parts();
        std::size_t extent = 0;
        for (const ConcatPart& part : desc().parts) extent += part.extent;
        Words words;
        for (std::size_t m = 0; m < desc().members; ++m) {
            for (std::size_t o = 0; o < desc().outer; ++o) {
                for (std::size_t along = 0; along < extent; ++along) {
                    for (std::size_t i = 0; i < desc().inner; ++i) {
                        words.push_back(concat_oracle(desc(), values, m, o, along, i));
                    }
                }
            }
        }
        return words;
    }

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
        problems.push_back(std::make_unique<ConcatProblem>(desc, seed + problems.size()));
        for (ConcatPart& part : desc.parts) part.shared = false;
        desc.split = true;
        problems.push_back(std::make_unique<ConcatProblem>(desc, seed + problems.size()));
    }
    return problems;
}

Problems concat_benchmarks() {
    ConcatDesc desc{.members = 64, .outer = 64, .inner = 1, .parts = {{128}, {64}, {64}}};
    const ConcatDesc joined = desc;
    desc.split = true;
    return problems_of<ConcatProblem>({joined, desc});
}

}  // namespace

const Family& concat_family() noexcept {
    static constexpr Family kFamily{.name = "concat",
                                    .exactness = "E",
                                    .cases = &concat_cases,
                                    .benchmarks = &concat_benchmarks,
                                    .configurations_per_case = 5,
                                    .operation = &kOperationText<ConcatDesc, &make_problem<ConcatProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
