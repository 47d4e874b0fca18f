// SPDX-License-Identifier: Apache-2.0
// XXH3 over bytes (libxxhash). Hashes are content ids (state hashes, cache keys), not security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace yolk {

/// Streaming XXH3-128. `hex()` is the canonical (big-endian) form, 32 lower-case digits.
class Hasher {
   public:
    Hasher();
    ~Hasher();
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    Hasher& add(std::span<const std::byte> bytes) noexcept;
    template <class T>
    Hasher& add_values(std::span<const T> values) noexcept {
        return add(std::as_bytes(values));
    }
    [[nodiscard]] std::string hex() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes) noexcept;

}  // namespace yolk
