// SPDX-License-Identifier: Apache-2.0
// Files of data that tests write.
#pragma once

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

template <class T>
std::string raw(std::initializer_list<T> values) {
    return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)};
}
inline std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                       bool fortran = false) {
    std::string header =
        "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
    const auto length = static_cast<std::uint16_t>(header.size());
    return std::string("\x93NUMPY\x01\x00", 8) + raw({length}) + header + data;
}
inline std::string idx(unsigned char type, std::initializer_list<unsigned char> shape, const std::string& data) {
    std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
    for (const unsigned char extent : shape) bytes += std::string(3, '\0') + static_cast<char>(extent);
    return bytes + data;
}

/// An archive of members that are deflated, with a directory.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
    std::string archive, directory;
    const auto word = [](std::uint32_t value, std::size_t size) {
        return std::string(reinterpret_cast<const char*>(&value), size);
    };
    for (const auto& [name, data] : members) {
        std::string packed(data.size() + 100, '\0');
        z_stream stream{};
        deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
        stream.avail_in = static_cast<uInt>(data.size());
        stream.next_out = reinterpret_cast<Bytef*>(packed.data());
        stream.avail_out = static_cast<uInt>(packed.size());
        deflate(&stream, Z_FINISH);
        packed.resize(stream.total_out);
        deflateEnd(&stream);
        const auto sum = static_cast<std::uint32_t>(
            crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
        const std::string sizes = word(sum, 4) + word(static_cast<std::uint32_t>(packed.size()), 4) +
                                  word(static_cast<std::uint32_t>(data.size()), 4) +
                                  word(static_cast<std::uint32_t>(name.size()), 2) + word(0, 2);
        directory += "PK\x01\x02" + word(20, 2) + word(20, 2) + word(0, 2) + word(8, 2) + word(0, 4) + sizes +
                     word(0, 2) + word(0, 2) + word(0, 2) + word(0, 4) +
                     word(static_cast<std::uint32_t>(archive.size()), 4) + name;
        archive += "PK\x03\x04" + word(20, 2) + word(0, 2) + word(8, 2) + word(0, 4) + sizes + name + packed;
    }
    const std::string end =
        std::string("PK\x05\x06") + word(0, 4) + word(static_cast<std::uint32_t>(members.size()), 2) +
        word(static_cast<std::uint32_t>(members.size()), 2) + word(static_cast<std::uint32_t>(directory.size()), 4) +
        word(static_cast<std::uint32_t>(archive.size()), 4) + word(0, 2);
    return archive + directory + end;
}

inline std::string png_of(std::uint32_t width, std::uint32_t height, bool colour,
                          const std::vector<std::uint8_t>& pixels) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    png_alloc_size_t size = 1U << 16U;
    std::string bytes(size, '\0');
    EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr), 0);
    bytes.resize(size);
    return bytes;
}

}  // namespace yolk::tasks
