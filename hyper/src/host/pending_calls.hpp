// SPDX-License-Identifier: Apache-2.0
// Host calls that are under way while something else goes on.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>

#include "yolk/internal/hyper/executor.hpp"

namespace yolk::hyper {

/// Of one thread: what has arrived is handed out where that thread asks for it.
class PendingCalls {
   public:
    using Done = std::function<void(Result<Value>)>;
    explicit PendingCalls(HostPool& pool);

    /// `done` is called by receive(). What the task points to is copied.
    void begin(HostTask task, Done done);
    /// Hands out what is there; with `wait`, waits for one where calls are under way.
    void receive(bool wait);
    [[nodiscard]] bool any() const noexcept { return !waiting_.empty(); }

   private:
    struct Mailbox;
    HostPool& pool_;
    std::shared_ptr<Mailbox> mailbox_;
    std::map<std::size_t, Done> waiting_{};
    std::size_t next_ = 0;
};

}  // namespace yolk::hyper
