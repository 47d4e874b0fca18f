// SPDX-License-Identifier: Apache-2.0
// What `yolk tune --job last` goes by.
#pragma once

#include "yolk/autotune/last_run.hpp"

namespace yolk::cli {

/// Remembers, when it ends, what the device's plans asked the tuning table about. The device outlives it.
class RememberShapes {
   public:
    explicit RememberShapes(const Device& device) : device_(device) {}
    ~RememberShapes() { autotune::remember_shapes(device_); }
    RememberShapes(const RememberShapes&) = delete;
    RememberShapes& operator=(const RememberShapes&) = delete;

   private:
    const Device& device_;
};

}  // namespace yolk::cli
