// SPDX-License-Identifier: Apache-2.0
// Files of data that tests write.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace yolk::tasks {

/// A folder that lives as long as this.
class DataFolder {
   public:
    DataFolder() { std::filesystem::create_directories(path_); }
    ~DataFolder() { std::filesystem::remove_all(path_); }
    DataFolder(const DataFolder&) = delete;
    DataFolder& operator=(const DataFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// The path of a new file of these bytes; folders in its name are made.
    std::string write(const std::string& name, std::string_view bytes) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return (path_ / name).string();
    }

   private:
    static inline int made_ = 0;
    const std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                        ("yolk-data-" + std::to_string(::getpid()) + "-" + std::to_string(++made_));
};

}  // namespace yolk::tasks
