// SPDX-License-Identifier: Apache-2.0
// Which ranks of this machine have come, before MPI can tell: each binds a socket of a name that the launch gives. The
// names are not in any folder, and go with their process.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/train/processes.hpp"

namespace yolk::train {

class RankPresence {
   public:
    explicit RankPresence(const Launch& launch);
    /// "rank 2", "ranks 1 and 3 of 4", "a rank on another machine"; "another rank" where it cannot be told.
    [[nodiscard]] std::string missing() const;

   private:
    Launch launch_;
    std::string job_;  ///< the same for the ranks of a launch; empty where nothing tells
    Descriptor own_;
};

/// "rank 2", "ranks 1, 2 and 5".
[[nodiscard]] std::string ranks_text(std::span<const std::uint32_t> ranks);

}  // namespace yolk::train
