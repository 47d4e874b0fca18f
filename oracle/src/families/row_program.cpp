// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "check_tools.hpp"
#include "program_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

class RowProgramProblem final : public OperationProblem<RowProgramDesc> {
   public:
    explicit RowProgramProblem(const RowProgramDesc& desc, RowInputs inputs = RowInputs::Plain, std::uint64_t seed = 1)
        : OperationProblem(desc, name_of(inputs)), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] Work work() const override { return count() == 0 ? Work{} : OperationProblem::work(); }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        std::vector<ByteVector> all;
        for (std::size_t i = 0; i < desc().inputs.size(); ++i)
            all.push_back(bytes_of_values(row_inputs(seed_ + i, of_input(i), inputs_)));
        return all;
    }
    [[nodiscard]] double operations() const override { return static_cast<double>(count() * desc().steps.size()); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        const bool varies = varies_along_row(desc()).back();
        const std::uint32_t columns = desc().extents[desc().row];
        return {program_bounds(desc(), given, varies ? count() : count() / std::max(columns, 1U))};
    }
    [[nodiscard]] ElementType element(const ViewShape& /*shape*/) const override {
        const auto* const last = std::get_if<RowOperation>(&desc().steps.back().operation);
        return last != nullptr && *last == RowOperation::Argmax ? ElementType::U32 : ElementType::F32;
    }
    [[nodiscard]] RowProgramViews views_of(const RowProgramDesc& desc,
                                           std::span<const BufferView> views) const override {
        return {.inputs = views.first(desc.inputs.size()), .out = views.back()};
    }

   private:
    [[nodiscard]] std::size_t count() const {
        std::size_t product = 1;
        for (const std::uint32_t extent : desc().extents) product *= extent;
        return product;
    }
    [[nodiscard]] std::size_t of_input(std::size_t number) const {
        std::size_t product = 1;
        for (std::size_t d = 0; d < desc().extents.size(); ++d)
            product *= (desc().inputs[number] >> d & 1U) != 0 ? desc().extents[d] : 1;
        return product;
    }
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct RowProgramCase {
    std::string_view text;
    RowInputs inputs = RowInputs::Plain;
};

// Each operation and reduction, up to four in turn, results of elements and of rows. Empty three ways, one element,
// around the 32 chains, primes, more rows than a workgroup has; rows along the last dimension, the first and between;
// inputs that have the row and not the others, the others and not the row, one element.
constexpr auto kRowProgramCases = std::to_array<RowProgramCase>({
    {"extents=0-3-5 row=2 inputs=7,4 steps=add:0:1,sum:2,multiply:3:2"},
    {"extents=3-0-5 row=2 inputs=7 steps=sum:0"},
    {"extents=3-5-0 row=2 inputs=7,3 steps=max:0,subtract:0:2"},
    {"extents=1 row=0 inputs=1 steps=sum:0,add:0:1"},
    {"extents=5-31 row=1 inputs=3,3 steps=multiply:0:1,sum:2"},
    {"extents=7-32 row=1 inputs=3,3 "
     "steps=where:0:1:0,operand:2,max:3,difference:3:4,exponential:5,sum:6,reciprocal:7,product:6:8,result:9"},
    {"extents=3-3-33 row=2 inputs=7,7,3 steps=multiply:0:1,sum:3,add:4:2,subtract:0:5,multiply:1:6", RowInputs::Steep},
    {"extents=2-65 row=1 inputs=3,2 numbers=2 steps=sum:0,multiply:4:2,subtract:0:5,multiply:6:6,sum:7,multiply:8:2,"
     "absolute:9,add:10:3,inverse_sqrt:11,multiply:6:12,multiply:13:1"},
    {"extents=257-7 row=1 inputs=3,1,0 steps=max:0,min:0,subtract:3:4,multiply:5:1,add:6:2", RowInputs::Ties},
    {"extents=9-33 row=1 inputs=3 steps=operand:0,argmax:1", RowInputs::Ties},
    {"extents=3-17-5 row=1 inputs=7,2,5 steps=multiply:0:1,sum:3,multiply:4:2"},
    {"extents=3-17-5 row=1 inputs=7,6,4 steps=max:0,subtract:0:3,add:4:1,min:5,multiply:6:2,add:7:5"},
    {"extents=37-3-5 row=0 inputs=7,1,3 steps=add:0:1,multiply:3:2,sum:4,absolute:5"},
    {"extents=2-3-2-3-35 row=4 inputs=31,28,3 steps=multiply:0:1,add:3:2,sum:4,subtract:4:5"},
    {"extents=2-1021 row=1 inputs=3,3,3 steps=sum:0,sum:1,sum:2,max:0,add:3:4,add:5:6,subtract:7:8,multiply:9:0"},
    {"extents=2-4099 row=1 inputs=3,2 steps=multiply:0:1,absolute:2,sum:3"},
    {"extents=2-40 row=1 inputs=3,3 steps=subtract:0:1,sum:2,multiply:3:2", RowInputs::Tiny},
    {"extents=33-4 row=1 inputs=3,2,1,0 steps=multiply:0:1,add:4:2,max:5,subtract:5:6,multiply:7:3"},
    {"extents=3-2-60 row=2 inputs=7,5 steps=multiply:0:1,sum:2"},
});

RowProgramDesc program_of(std::string_view text) {
    RowProgramDesc desc = operation_of<RowProgramDesc>().fields.parse(text).value();
    constexpr std::array kNumbers{0.015384615F, 1e-5F, -0.37F, 1.25F};
    std::copy_n(kNumbers.begin(), desc.numbers.size(), desc.numbers.begin());
    return desc;
}

Problems row_program_cases(std::uint64_t seed) {
    Problems problems;
    for (const RowProgramCase& c : kRowProgramCases)
        problems.push_back(std::make_unique<RowProgramProblem>(program_of(c.text), c.inputs, seed + problems.size()));
    return problems;
}

Problems row_program_benchmarks() {
    return problems_of<RowProgramProblem>(
        {program_of("extents=4096-256 row=1 inputs=3,3 steps=multiply:0:1,sum:2"),
         program_of("extents=4096-256 row=1 inputs=3,3 steps=multiply:0:1,sum:2,subtract:1:3,multiply:0:4"),
         program_of("extents=4096-64 row=1 inputs=3,3,2 steps=where:2:0:1,operand:3,max:4,subtract:4:5,exp:6,sum:7,"
                    "reciprocal:8,multiply:7:9")});
}

}  // namespace

const Family& row_program_family() noexcept {
    static constexpr Family kFamily{.name = "row_program",
                                    .exactness = "P",
                                    .cases = &row_program_cases,
                                    .benchmarks = &row_program_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<RowProgramDesc, &make_problem<RowProgramProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
