// SPDX-License-Identifier: Apache-2.0
// K-FAC on a device: a step is one recording of the network's two passes, the covariances of what goes into each layer
// and of what comes back to it, the preconditioned gradients, and the update.
#pragma once

#include <memory>

#include "06_kfac_task.hpp"
#include "yolk/context.hpp"
#include "yolk/result.hpp"

namespace kfac_example {

struct KfacRun {
    std::uint32_t steps = 0;  ///< until the loss is below kTargetLoss; as many as allowed where it is not by then
    double seconds = 0.0;
    std::uint64_t dispatches = 0;
    std::uint32_t refused = 0;  ///< layers and steps where a factor had no inverse: they were left as they were
};

class DeviceKfac {
   public:
    [[nodiscard]] static yolk::Result<DeviceKfac> create(const yolk::Context& context);
    [[nodiscard]] yolk::Result<KfacRun> run(const Task& task, const Settings& settings, std::uint32_t most);
    /// The gradient at the start of the task, as the device has it.
    [[nodiscard]] yolk::Result<Network> gradient(const Task& task);

    ~DeviceKfac();
    DeviceKfac(DeviceKfac&&) noexcept;
    DeviceKfac& operator=(DeviceKfac&&) noexcept;

   private:
    struct Impl;
    explicit DeviceKfac(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace kfac_example
