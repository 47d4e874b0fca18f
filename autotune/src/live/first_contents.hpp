// SPDX-License-Identifier: Apache-2.0
// What a problem's kernel reads and then writes over, kept, so that each run that is timed begins from the same.
#pragma once

#include <span>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// One copy on the device of each InOut buffer's contents. Without it a kernel that iterates until it has converged
/// would have nothing left to do from its second run on, and one that accumulates would reach infinity or denormals,
/// which processors compute with more slowly.
class FirstContents {
   public:
    [[nodiscard]] static Result<FirstContents> create(const Device& device, Dispatcher& dispatcher,
                                                      std::span<const oracle::ProblemBuffer> buffers);
    /// Whether there is anything to put back.
    [[nodiscard]] bool any() const noexcept { return any_; }
    /// After a kernel that had the views, one for each buffer: waits for it, and copies. What reads the views next
    /// waits for copies (Barrier::TransferToCompute).
    void put_back(Recorder& recorder, std::span<const BufferView> views) const noexcept;

   private:
    std::vector<Buffer> first_;  ///< by buffer; empty where a run leaves it as it is, or nobody reads what was there
    bool any_ = false;
};

}  // namespace yolk::autotune
