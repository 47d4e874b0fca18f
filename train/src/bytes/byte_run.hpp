// SPDX-License-Identifier: Apache-2.0
// A run of the byte model as evolve's: its stages, and where it begins.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "byte_members.hpp"
#include "byte_setup.hpp"
#include "yolk/evolution.hpp"

namespace yolk::train {

/// Where a run goes on; at its beginning the setup's first values.
struct ByteStart {
    std::vector<float> weights{}, residual{};
    std::uint32_t generation = 0;
};
[[nodiscard]] ByteStart beginning_of(const ByteSetup& setup);

/// Without members (a null text) it has apply() alone. The device that makes the sums, and `setup`, must outlive it.
[[nodiscard]] Result<evolve::Evolution> byte_evolution(const evolve::Devices& devices, const Device& device,
                                                       Dispatcher& dispatcher, const ByteSetup& setup,
                                                       const ByteStart& start, const SharedBytes& text);

}  // namespace yolk::train
