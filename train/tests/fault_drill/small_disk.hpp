// SPDX-License-Identifier: Apache-2.0
// A disk that is soon full: a tmpfs of a few pages, where this process may mount one.
#pragma once

#include <sys/mount.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace yolk::train {

class SmallDisk {
   public:
    /// `folder` is there; with a size of 0 bytes nothing is mounted.
    SmallDisk(std::filesystem::path folder, std::uint32_t bytes) : folder_(std::move(folder)) {
        const std::string size = "size=" + std::to_string(bytes);
        is_mounted_ = bytes != 0 && ::mount("yolk-drill", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    }
    ~SmallDisk() {
        if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    [[nodiscard]] bool is_mounted() const noexcept { return is_mounted_; }
    /// Somebody makes room.
    void grow() const {
        if (is_mounted_) ::mount("yolk-drill", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=16m");
    }

   private:
    std::filesystem::path folder_;
    bool is_mounted_ = false;
};

}  // namespace yolk::train
