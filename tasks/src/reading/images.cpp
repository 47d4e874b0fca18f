// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "read_images.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"

namespace yolk::tasks {
namespace {

constexpr std::size_t kMaxImageBytes = std::size_t{256} << 20U;
/// Deflate packs at most this many bytes into one.
constexpr std::uint64_t kMostPacked = 1032;

/// Frees what libpng holds in every way out.
struct PngImage {
    png_image image{};
    PngImage() { image.version = PNG_IMAGE_VERSION; }
    ~PngImage() { png_image_free(&image); }
    PngImage(const PngImage&) = delete;
    PngImage& operator=(const PngImage&) = delete;
};

Result<Image> parse_png(std::string_view bytes, const std::string& name) {
    PngImage png;
    if (png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) == 0)
        return bad_input("'{}' is no PNG that can be read: {}.", name, png.image.message);
    const bool is_colour = (png.image.format & PNG_FORMAT_FLAG_COLOR) != 0;
    png.image.format = is_colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    Image image{.height = png.image.height, .width = png.image.width, .channels = is_colour ? 3U : 1U};
    // A bit for each pixel is the least that an image has before it is packed.
    const std::uint64_t pixels = std::uint64_t{image.height} * image.width;
    if (pixels / 8 > bytes.size() * kMostPacked) {
        return bad_input("'{}' says that it has {} x {} pixels, which its {} bytes cannot hold.", name, image.height,
                         image.width, bytes.size());
    }
    image.pixels.resize(pixels * image.channels);
    const png_color black{};
    if (png_image_finish_read(&png.image, &black, image.pixels.data(), 0, nullptr) == 0)
        return bad_input("'{}' is damaged or cut off: {}.", name, png.image.message);
    return image;
}

/// The next number of a PGM's or PPM's header; blanks and comments before it are passed over.
std::optional<std::uint32_t> pnm_number(std::string_view& rest) {
    while (!rest.empty() && (rest.front() == '#' || std::string_view(" \t\r\n").find(rest.front()) != rest.npos)) {
        const bool is_comment = rest.front() == '#';
        rest.remove_prefix(is_comment ? std::min(rest.find('\n'), rest.size()) : 1);
    }
    std::uint32_t number = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (code != std::errc()) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return number;
}

Result<Image> parse_pnm(std::string_view bytes, const std::string& name) {
    std::string_view rest = bytes.substr(2);
    const auto width = pnm_number(rest), height = pnm_number(rest), most = pnm_number(rest);
    if (!width || !height || !most || rest.empty() || *most == 0 || *most > 255) {
        return bad_input("'{}' has no header of a PGM or PPM of 8 bits (width, height, a largest value up to 255).",
                         name);
    }
    rest.remove_prefix(1);  // the one blank before the pixels
    Image image{.height = *height, .width = *width, .channels = bytes[1] == '6' ? 3U : 1U};
    const std::uint64_t count = std::uint64_t{*height} * *width;
    if (count == 0 || count > rest.size() || count * image.channels != rest.size()) {
        return bad_input(
            "'{}' has {} bytes of pixels, and its header promises {} x {} of {}; it is cut off or damaged.", name,
            rest.size(), *height, *width, image.channels);
    }
    image.pixels.assign(rest.begin(), rest.end());
    return image;
}

/// What is in a folder, by name; hidden entries are left out.
Result<std::vector<std::filesystem::path>> entries_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> entries;
    std::error_code code;
    for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
        if (!entry->path().filename().string().starts_with('.')) entries.push_back(entry->path());
    }
    if (code) return io_error(fmt::format("Cannot list '{}'", shown(folder)), code.value());
    std::ranges::sort(entries);
    return entries;
}

Result<void> add_image(DataSet& data, const std::filesystem::path& path, const std::string& first) {
    YOLK_TRY(const std::string bytes, read_text(path, kMaxImageBytes));
    YOLK_TRY(const Image image, parse_image(bytes, shown(path)));
    std::vector<std::uint32_t> shape{image.height, image.width};
    if (image.channels > 1) shape.push_back(image.channels);
    if (data.shape.empty()) data.shape = shape;
    if (shape != data.shape) {
        return bad_input(
            "'{}' has {} x {} pixels of {} channel(s), and '{}' has another size; all images need one "
            "size.",
            shown(path), image.height, image.width, image.channels, first);
    }
    data.inputs.insert(data.inputs.end(), image.pixels.begin(), image.pixels.end());
    return {};
}

}  // namespace

Result<Image> parse_image(std::string_view bytes, const std::string& name) {
    if (bytes.starts_with("\x89PNG")) return parse_png(bytes, name);
    if (bytes.starts_with("P5") || bytes.starts_with("P6")) return parse_pnm(bytes, name);
    return bad_input("'{}' is no image that is read here: PNG, or PGM and PPM in their binary forms.", name);
}

Result<DataSet> read_image_folder(const std::filesystem::path& folder, bool has_labels) {
    DataSet data;
    data.name = shown(folder);
    std::vector<std::filesystem::path> groups{folder};
    if (has_labels) {
        YOLK_TRY(groups, entries_of(folder));
        std::erase_if(groups, [](const auto& path) { return !std::filesystem::is_directory(path); });
    }
    if (groups.empty())
        return bad_input("'{}' has no sub-folders; there must be one of images for each label.", data.name);
    std::string first;
    for (const std::filesystem::path& group : groups) {
        YOLK_TRY(const std::vector<std::filesystem::path> images, entries_of(group));
        if (images.empty()) return bad_input("'{}' has no images; remove the folder, or fill it.", shown(group));
        if (first.empty()) first = shown(images.front());
        for (const std::filesystem::path& image : images) {
            YOLK_TRY_VOID(add_image(data, image, first));
            if (has_labels) data.labels.push_back(group.filename().string());
        }
    }
    return data;
}

}  // namespace yolk::tasks
