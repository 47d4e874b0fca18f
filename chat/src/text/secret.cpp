// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/chat/secret.hpp"

#include <cstring>
#include <ostream>
#include <utility>

namespace yolk::chat {

Secret::Secret(std::string_view text) : size_(text.size()) {
    if (text.empty()) return;
    bytes_ = new char[text.size()];
    std::memcpy(bytes_, text.data(), text.size());
}

Secret::~Secret() { wipe(); }

Secret::Secret(Secret&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    wipe();
    bytes_ = std::exchange(other.bytes_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
}

void Secret::wipe() noexcept {
    if (bytes_ != nullptr) ::explicit_bzero(bytes_, size_);
    delete[] bytes_;
    bytes_ = nullptr;
    size_ = 0;
}

std::string_view Secret::reveal() const noexcept { return {bytes_, size_}; }

bool Secret::is_in(std::string_view text) const noexcept {
    return size_ >= kLeastSearched && text.find(reveal()) != std::string_view::npos;
}

std::string Secret::removed_from(std::string_view text) const {
    std::string clean;
    while (!empty()) {
        const std::size_t at = text.find(reveal());
        if (at == std::string_view::npos) break;
        clean.append(text.substr(0, at)).append("[key]");
        text.remove_prefix(at + size_);
    }
    return clean.append(text);
}

std::ostream& operator<<(std::ostream& out, const Secret& /*secret*/) { return out << "[key]"; }

}  // namespace yolk::chat
