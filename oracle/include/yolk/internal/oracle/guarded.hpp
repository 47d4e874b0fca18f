// SPDX-License-Identifier: Apache-2.0
// Buffers that tell on a kernel: the payload lies between guard bands, everything is filled with a poison first, and a
// check finds writes outside. Running a case with two different poisons shows any reliance on what scratch or outputs
// held before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

/// A quiet NaN with a payload, and a large odd integer: neither reads as a harmless zero.
inline constexpr std::array<std::uint32_t, 2> kPoisons{0x7FC0A5A5U, 0xA5A5A5A5U};
inline constexpr std::uint64_t kGuardBytes = 256;
/// Behind a payload whose binding is to be larger: what a workgroup or a row too many writes.
inline constexpr std::uint64_t kRoomBytes = std::uint64_t{64} << 10U;

/// One thread at a time.
class GuardedBuffer {
   public:
    /// Device memory of kGuardBytes + round_up(size_bytes, 256) + kGuardBytes, or what is more, room_bytes; all of it
    /// poison. size_bytes 0 is legal.
    [[nodiscard]] static Result<GuardedBuffer> create(const Device& device, Dispatcher& dispatcher,
                                                      std::uint64_t size_bytes, std::uint32_t poison, std::string label,
                                                      std::uint64_t room_bytes = 0);
    /// The payload, exactly size_bytes (empty view for 0), at offset kGuardBytes.
    [[nodiscard]] BufferView view() const noexcept {
        return size_bytes_ == 0 ? BufferView{} : BufferView{buffer_, kGuardBytes, size_bytes_};
    }

    /// The payload and the guards behind it, room_bytes at least: a driver that drops what a kernel writes past its
    /// binding keeps what it writes past the payload. An empty view for 0.
    [[nodiscard]] BufferView view_with_room() const noexcept {
        return size_bytes_ == 0 ? BufferView{} : BufferView{buffer_, kGuardBytes, buffer_.size_bytes() - kGuardBytes};
    }

    [[nodiscard]] Result<void> upload(std::span<const std::byte> bytes) const;
    template <class T>
    [[nodiscard]] Result<void> upload(const std::vector<T>& values) const {
        return upload(std::as_bytes(std::span(values)));
    }
    template <class T>
    [[nodiscard]] Result<std::vector<T>> download() const {
        std::vector<T> values(size_bytes_ / sizeof(T));
        YOLK_TRY_VOID(download_bytes(std::as_writable_bytes(std::span(values))));
        return values;
    }
    /// How many words outside the payload are not poison any more (the round-up padding included).
    [[nodiscard]] Result<std::uint64_t> damaged_words() const;

   private:
    [[nodiscard]] Result<void> download_bytes(std::span<std::byte> bytes) const;
    Buffer buffer_;
    Dispatcher* dispatcher_ = nullptr;
    std::uint64_t size_bytes_ = 0;
    std::uint32_t poison_ = 0;
};

}  // namespace yolk::oracle
