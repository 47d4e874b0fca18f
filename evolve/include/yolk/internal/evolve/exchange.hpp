// SPDX-License-Identifier: Apache-2.0
// What the ranks of one run do together: each gives bytes, and all have everyone's. One rank alone needs nobody;
// several are processes, on one machine or many (yolk/internal/train/processes.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::evolve {

/// What a rank gave to the others and got from them, what every message takes besides its bytes included
/// (docs/distributed.md). What a network carries is up to the collective's algorithm: where each rank sends to each
/// other one, a rank's own bytes leave it once for each of them.
struct Traffic {
    std::uint64_t rounds = 0;
    std::uint64_t sent_bytes = 0;      ///< its own, counted once however many ranks there are
    std::uint64_t received_bytes = 0;  ///< everyone else's

    friend bool operator==(const Traffic& left, const Traffic& right) = default;
};
[[nodiscard]] Traffic operator+(const Traffic& left, const Traffic& right) noexcept;
[[nodiscard]] Traffic operator-(const Traffic& after, const Traffic& before) noexcept;

/// One thread at a time. All ranks make the same calls in the same order; a call returns when all have made it.
class Exchange {
   public:
    virtual ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;   ///< this one, from 0
    [[nodiscard]] virtual std::uint32_t ranks() const noexcept = 0;  ///< at least 1
    /// Everyone's bytes by rank, `mine` included; lengths may differ. Errors: a rank cannot be reached.
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine);
    [[nodiscard]] const Traffic& traffic() const noexcept { return traffic_; }
    /// The run ends with an error that all ranks have (agree): one of them is to say it.
    [[nodiscard]] bool ends_together() const noexcept { return ends_together_; }
    [[nodiscard]] Error end_together(Error error) noexcept {
        ends_together_ = true;
        return error;
    }

   protected:
    Exchange() = default;

   private:
    [[nodiscard]] virtual Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine) = 0;
    /// What a message of this many bytes takes on its way to one rank.
    [[nodiscard]] virtual std::uint64_t carried_bytes(std::uint64_t message) const noexcept { return message; }

    Traffic traffic_{};
    bool ends_together_ = false;
};

/// One rank.
class SoloExchange final : public Exchange {
   public:
    [[nodiscard]] std::uint32_t rank() const noexcept override { return 0; }
    [[nodiscard]] std::uint32_t ranks() const noexcept override { return 1; }

   private:
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine) override;
};

}  // namespace yolk::evolve
