// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "yolk/internal/core/check.hpp"

namespace yolk {

struct Hasher::State {
    XXH3_state_t* xxh = XXH3_createState();
    State() {
        YOLK_CHECK(xxh != nullptr);
        XXH3_128bits_reset(xxh);
    }
    ~State() { XXH3_freeState(xxh); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

Hasher& Hasher::add(std::span<const std::byte> bytes) noexcept {
    XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
    return *this;
}

std::string Hasher::hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace yolk
