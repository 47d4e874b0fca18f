// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/where.hpp"

namespace yolk::oracle {
namespace {

using Words = std::vector<std::uint32_t>;

/// An operand repeated to [members, rows, columns]: row by row, as the number of a row says.
Words repeated(const WhereDesc& desc, SecondOperand operand, std::span<const std::uint32_t> words) {
    const std::size_t rows = std::size_t{desc.members} * desc.rows;
    Words out;
    for (std::size_t row = 0; row < rows; ++row) {
        std::size_t from = 0;
        if (operand == SecondOperand::Full) from = row;
        if (operand == SecondOperand::Shared) from = row % desc.rows;
        if (operand == SecondOperand::MemberRows) from = row / desc.rows;
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(from * desc.columns);
        out.insert(out.end(), first, first + desc.columns);
    }
    return out;
}

/// c a + (1 - c) b of the words, which are exact in double; c is 1 where the condition, as a number, is not 0.
std::vector<OracleValue> where_oracle(const Words& condition, const Words& first, const Words& second) {
    std::vector<OracleValue> values;
    for (std::size_t i = 0; i < condition.size(); ++i) {
        const double c = static_cast<double>(std::bit_cast<float>(condition[i])) != 0.0 ? 1.0 : 0.0;
        values.push_back({c * first[i] + (1.0 - c) * second[i], 0.0});
    }
    return values;
}

class WhereProblem final : public OperationProblem<WhereDesc> {
   public:
    explicit WhereProblem(const WhereDesc& desc, std::uint64_t seed = 1) : OperationProblem(desc), seed_(seed) {}

    [[nodiscard]] Work work() const override { return elements(3) == 0 ? Work{} : OperationProblem::work(); }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(condition()), bytes_of_values(Draws(seed_, 2).words(elements(1))),
                bytes_of_values(Draws(seed_, 3).words(elements(2)))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {where_oracle(repeated(desc(), desc().condition, given.in<std::uint32_t>(0)),
                             repeated(desc(), desc().first, given.in<std::uint32_t>(1)),
                             repeated(desc(), desc().second, given.in<std::uint32_t>(2)))};
    }

   private:
    // Both zeros, one, what is denormal, infinite and not a number; any other.
    [[nodiscard]] Words condition() const {
        constexpr std::array kSpecial{0U, 0x80000000U, 0U, 0x3F800000U, 1U, 0x80000001U, 0x7F800000U, 0x7FC00000U};
        Draws draws(seed_, 1);
        Words words(elements(0));
        for (std::uint32_t& word : words) word = draws.below(8) == 0 ? draws.word() : draws.one_of(kSpecial);
        return words;
    }

    std::uint64_t seed_;
};

constexpr SecondOperand kFull = SecondOperand::Full;
constexpr SecondOperand kShared = SecondOperand::Shared;
constexpr SecondOperand kMemberRows = SecondOperand::MemberRows;
constexpr SecondOperand kRow = SecondOperand::Row;

// Empty three ways, one element, tails of one to three, around the default workgroup's 64 and 256 elements, primes;
// each layout of each operand, with lengths that quads divide and that they do not.
constexpr std::array kWhereCases{
    WhereDesc{.members = 0, .rows = 3, .columns = 5},
    WhereDesc{.members = 3, .rows = 0, .columns = 5},
    WhereDesc{.members = 3, .rows = 5, .columns = 0},
    WhereDesc{.members = 1, .rows = 1, .columns = 1},
    WhereDesc{.members = 1, .rows = 5, .columns = 13},
    WhereDesc{.members = 1, .rows = 1, .columns = 63},
    WhereDesc{.members = 2, .rows = 16, .columns = 8},
    WhereDesc{.members = 7, .rows = 11, .columns = 13},
    WhereDesc{.members = 1, .rows = 1, .columns = 257},
    WhereDesc{.members = 3, .rows = 5, .columns = 7, .condition = kShared, .first = kMemberRows, .second = kRow},
    WhereDesc{.members = 3, .rows = 4, .columns = 7, .condition = kShared},
    WhereDesc{.members = 3, .rows = 5, .columns = 12, .condition = kMemberRows, .first = kRow, .second = kShared},
    WhereDesc{.members = 3, .rows = 5, .columns = 8, .condition = kRow, .first = kShared, .second = kMemberRows},
    WhereDesc{.members = 3, .rows = 5, .columns = 4, .condition = kFull, .first = kFull, .second = kRow},
    WhereDesc{.members = 2, .rows = 3, .columns = 1, .condition = kFull, .first = kMemberRows, .second = kMemberRows},
};

Problems where_cases(std::uint64_t seed) { return seeded_problems<WhereProblem>(kWhereCases, seed); }

Problems where_benchmarks() {
    return problems_of<WhereProblem>({{.members = 64, .rows = 64, .columns = 256, .condition = kShared}});
}

}  // namespace

const Family& where_family() noexcept {
    static constexpr Family kFamily{.name = "where",
                                    .exactness = "E",
                                    .cases = &where_cases,
                                    .benchmarks = &where_benchmarks,
                                    .configurations_per_case = 8,
                                    .operation = &kOperationText<WhereDesc, &make_problem<WhereProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
