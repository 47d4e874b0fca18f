// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/guarded.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "yolk/core/shape.hpp"

namespace yolk::oracle {

Result<GuardedBuffer> GuardedBuffer::create(const Device& device, Dispatcher& dispatcher, std::uint64_t size_bytes,
                                            std::uint32_t poison, std::string label) {
    const std::uint64_t total_bytes = kGuardBytes + round_up(size_bytes, kViewAlignment) + kGuardBytes;
    GuardedBuffer guarded;
    YOLK_TRY(guarded.buffer_, device.create_buffer({.size_bytes = total_bytes, .label = std::move(label)}));
    guarded.dispatcher_ = &dispatcher;
    guarded.size_bytes_ = size_bytes;
    guarded.poison_ = poison;
    const std::vector<std::uint32_t> words(total_bytes / sizeof(poison), poison);
    YOLK_TRY_VOID(dispatcher.upload(guarded.buffer_, std::as_bytes(std::span(words))));
    return guarded;
}

Result<void> GuardedBuffer::upload(std::span<const std::byte> bytes) const {
    if (bytes.size() != size_bytes_) {
        return bad_input("{} bytes were given for [{}], which holds {}.", bytes.size(), buffer_.label(), size_bytes_);
    }
    if (bytes.empty()) return {};
    return dispatcher_->upload(view(), bytes);
}

Result<void> GuardedBuffer::download_bytes(std::span<std::byte> bytes) const {
    if (bytes.size() != size_bytes_) {
        return bad_input("[{}] has {} bytes, which is not a whole number of the requested elements.", buffer_.label(),
                         size_bytes_);
    }
    if (bytes.empty()) return {};
    return dispatcher_->download(view(), bytes);
}

Result<std::uint64_t> GuardedBuffer::damaged_words() const {
    std::vector<std::byte> bytes(buffer_.size_bytes());
    YOLK_TRY_VOID(dispatcher_->download(buffer_, bytes));
    // The payload reads as intact, so that a word which it shares with the padding is judged by its padding bytes
    // alone.
    std::vector<std::uint32_t> intact(bytes.size() / sizeof(poison_), poison_);
    std::memcpy(bytes.data() + kGuardBytes, intact.data(), size_bytes_);
    std::vector<std::uint32_t> words(intact.size());
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return static_cast<std::uint64_t>(
        std::ranges::count_if(words, [&](std::uint32_t word) { return word != poison_; }));
}

}  // namespace yolk::oracle
