// SPDX-License-Identifier: Apache-2.0
// What `yolk tune --job last` goes by.
#pragma once

#include <span>
#include <vector>

#include "yolk/internal/autotune/last_run.hpp"

namespace yolk::cli {

/// Remembers, when it ends, what the devices' plans asked the tuning table about.
class RememberShapes {
   public:
    explicit RememberShapes(const Device& device) : devices_{device} {}
    explicit RememberShapes(std::span<const Device> devices) : devices_(devices.begin(), devices.end()) {}
    ~RememberShapes() {
        for (const Device& device : devices_) autotune::remember_shapes(device);
    }
    RememberShapes(const RememberShapes&) = delete;
    RememberShapes& operator=(const RememberShapes&) = delete;

   private:
    std::vector<Device> devices_;
};

}  // namespace yolk::cli
