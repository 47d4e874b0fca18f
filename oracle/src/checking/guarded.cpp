// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/guarded.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/recorder.hpp"

namespace yolk::oracle {
namespace {

/// From here on poison is written by the device, and only what lies outside the payload comes back.
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20U;

Result<void> fill_on_device(const Device& device, Dispatcher& dispatcher, const Buffer& buffer, std::uint32_t word) {
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "poison"}));
    recorder.begin();
    recorder.fill(buffer, word);
    return dispatcher.run(recorder);
}

std::uint64_t words_that_are_not(std::uint32_t word, std::span<const std::byte> bytes) {
    std::uint64_t others = 0;
    for (std::size_t i = 0; i + sizeof(word) <= bytes.size(); i += sizeof(word))
        others += std::memcmp(bytes.data() + i, &word, sizeof(word)) == 0 ? 0U : 1U;
    return others;
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::create(const Device& device, Dispatcher& dispatcher, std::uint64_t size_bytes,
                                            std::uint32_t poison, std::string label, std::uint64_t room_bytes) {
    const std::uint64_t total_bytes = kGuardBytes + round_up(size_bytes, kViewAlignment) +
                                      std::max(kGuardBytes, round_up(room_bytes, kViewAlignment));
    GuardedBuffer guarded;
    YOLK_TRY(guarded.buffer_, device.create_buffer({.size_bytes = total_bytes, .label = std::move(label)}));
    guarded.dispatcher_ = &dispatcher;
    guarded.size_bytes_ = size_bytes;
    guarded.poison_ = poison;
    if (total_bytes >= kLargeBytes) {
        YOLK_TRY_VOID(fill_on_device(device, dispatcher, guarded.buffer_, poison));
        return guarded;
    }
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
    std::vector<std::byte> all;
    const auto take = [&](std::uint64_t begin, std::uint64_t end) -> Result<void> {
        const std::size_t before = all.size();
        all.resize(before + (end - begin));
        return dispatcher_->download({buffer_, begin, end - begin}, std::span(all).subspan(before));
    };
    // Whole words of the payload are no matter here; of a large one they need not come back.
    const std::uint64_t payload_words_end = kGuardBytes + size_bytes_ / sizeof(poison_) * sizeof(poison_);
    std::size_t rest = payload_words_end;  // where the word lies in `all` that payload and padding share
    if (buffer_.size_bytes() < kLargeBytes) {
        YOLK_TRY_VOID(take(0, buffer_.size_bytes()));
    } else {
        YOLK_TRY_VOID(take(0, kGuardBytes));
        YOLK_TRY_VOID(take(payload_words_end, buffer_.size_bytes()));
        rest = kGuardBytes;
    }
    // The payload reads as intact, so that a word which it shares with the padding is judged by its padding bytes
    // alone.
    std::memcpy(all.data() + rest, &poison_, size_bytes_ % sizeof(poison_));
    const std::uint64_t head = words_that_are_not(poison_, std::span(all).first(kGuardBytes));
    return head + words_that_are_not(poison_, std::span(all).subspan(rest));
}

}  // namespace yolk::oracle
