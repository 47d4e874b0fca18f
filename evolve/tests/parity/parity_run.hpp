// SPDX-License-Identifier: Apache-2.0
// Runs a case on a device and gives back all that EGGROLL's formulas can be held against: noise, perturbed products,
// shaped fitness, gradients, and parameters after each generation.
#pragma once

#include <string>
#include <vector>

#include "parity/parity_case.hpp"
#include "yolk/dispatcher.hpp"

namespace yolk::evolve {

/// Named as bench/peers/eggroll_parity.py names it; integers and fp32 values, both exact in double.
struct ParityQuantity {
    std::string name;
    std::vector<double> values;
};

/// Members stand behind the mean: [population + 1, ...]. Products are those of the last generation's noise, gradients
/// those of the first. Fitness, "sgd ..." and "adam ..." come from runs of Evolution, gradients from es_update on what
/// such a run's shaped() gave. Errors: those of the plans and of Evolution.
[[nodiscard]] Result<std::vector<ParityQuantity>> run_parity_case(const Device& device, Dispatcher& dispatcher,
                                                                  const ParityCase& item);

}  // namespace yolk::evolve
