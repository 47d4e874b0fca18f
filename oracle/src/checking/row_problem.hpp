// SPDX-License-Identifier: Apache-2.0
// The problem of an operation whose one input is rows of floats.
#pragma once

#include "row_inputs.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {

/// `kOperations`: of each element.
template <class Desc, std::vector<Bounded> (*kOracle)(const Desc&, const HostViews&), int kOperations>
class RowProblem final : public OperationProblem<Desc> {
   public:
    explicit RowProblem(const Desc& desc, RowInputs inputs = RowInputs::Plain, std::uint64_t seed = 1)
        : OperationProblem<Desc>(desc, name_of(inputs)), inputs_(inputs), seed_(seed) {}

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(row_inputs(seed_, this->elements(0), inputs_))};
    }
    [[nodiscard]] double operations() const override { return kOperations * static_cast<double>(this->elements(0)); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {kOracle(this->desc(), given)};
    }

   private:
    RowInputs inputs_;
    std::uint64_t seed_;
};

}  // namespace yolk::oracle
