// SPDX-License-Identifier: Apache-2.0
// Any operation of the library as a kernel that is found by name: what Python's yolk.ops is made of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/runtime/recorder.hpp"

namespace yolk::python {

/// What a kernel is told at each run besides its arrays; those that draw no noise ignore it.
struct When {
    NoiseStream stream{};
    std::uint32_t generation = 0;
    std::int32_t first_member = 0;
    float sigma = 0.0F;
    float learning_rate = 0.0F;  ///< of an optimizer
    std::uint32_t step = 0;      ///< likewise, from 0
};

/// A plan of some operation. Immutable; the device must outlive it.
class Kernel {
   public:
    Kernel() = default;
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    virtual ~Kernel() = default;

    /// In the order in which record() takes them.
    [[nodiscard]] virtual const std::vector<DescribedView>& views() const noexcept = 0;
    [[nodiscard]] virtual MemoryNeeds scratch() const noexcept = 0;
    /// One view for each of views(), empty ones where they are not used. What it returns must live until the work has
    /// ended.
    [[nodiscard]] virtual Result<std::shared_ptr<const void>> record(Recorder& recorder,
                                                                     std::span<const BufferView> views,
                                                                     const BufferView& scratch,
                                                                     const When& when) const = 0;
};

/// What the text of a description does not have: {"epsilon", 1e-5}.
using Numbers = std::map<std::string, double, std::less<>>;

/// `fields`: the description's text, "rows=4 columns=3 log=1"; of es_update behind "table=4x3,7 ", a matrix [4, 3] and
/// a vector of 7 with the noise of parameters 0 and 1. Errors: no such operation, mistakes in the text, a number that
/// the operation does not have, and those of the plan.
[[nodiscard]] Result<std::shared_ptr<const Kernel>> plan_kernel(const Device& device, std::string_view operation,
                                                                std::string_view fields, const Numbers& numbers);

}  // namespace yolk::python
