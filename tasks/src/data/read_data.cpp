// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <system_error>

#include "read_arrays.hpp"
#include "read_images.hpp"
#include "read_table.hpp"
#include "sources.hpp"
#include "yolk/data.hpp"
#include "yolk/internal/autotune/inflate.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "zip.hpp"

namespace yolk::tasks {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30U;

enum class FileFormat { Csv, Npy, Npz, Idx };

/// By the name's ending, of which .gz is no part; nothing for others. The names that IDX files have in the wild end in
/// "-idx3-ubyte", or "idx3-ubyte" after a point.
std::optional<FileFormat> format_of(std::string name) {
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    for (const std::string_view ending : {".csv", ".tsv", ".txt"})
        if (name.ends_with(ending)) return FileFormat::Csv;
    if (name.ends_with(".npy")) return FileFormat::Npy;
    if (name.ends_with(".npz")) return FileFormat::Npz;
    const std::size_t idx = name.rfind("idx");
    const bool is_idx = name.ends_with(".idx") || (name.ends_with("-ubyte") && idx != std::string::npos);
    return is_idx ? std::optional(FileFormat::Idx) : std::nullopt;
}

/// Unpacked, where it is gzip.
Result<std::string> read_unpacked(const std::filesystem::path& path) {
    YOLK_TRY(std::string bytes, read_text(path, kMostBytes));
    const auto packed = std::as_bytes(std::span(std::as_const(bytes)));
    if (!autotune::is_gzip(packed)) return bytes;
    return autotune::inflate(packed, autotune::Packing::Gzip, kMostBytes, fmt::format("'{}'", shown(path)));
}

Result<FileArray> parse_array(std::string_view bytes, FileFormat format, const std::string& quoted) {
    return format == FileFormat::Idx ? parse_idx(bytes, quoted) : parse_npy(bytes, quoted);
}

Result<FileArray> read_array(const std::filesystem::path& path) {
    const std::optional<FileFormat> format = format_of(path.string());
    if (format != FileFormat::Npy && format != FileFormat::Idx)
        return bad_input("'{}' is no file of labels: a .npy or an IDX file is.", shown(path));
    YOLK_TRY(const std::string bytes, read_unpacked(path));
    return parse_array(bytes, *format, fmt::format("'{}'", shown(path)));
}

/// Of an IDX file of images: the labels' file in the same folder.
std::string labels_beside(std::string images) {
    for (const auto& [from, to] :
         {std::pair<std::string_view, std::string_view>{"images", "labels"}, {"idx3", "idx1"}}) {
        if (const std::size_t at = images.rfind(from); at != std::string::npos) images.replace(at, from.size(), to);
    }
    return images;
}

Result<DataSet> read_array_file(const std::string& source, FileFormat format, const DataOptions& options) {
    const std::string name = shown(source);
    YOLK_TRY(const std::string bytes, read_unpacked(source));
    YOLK_TRY(const FileArray inputs, parse_array(bytes, format, fmt::format("'{}'", name)));
    if (!options.has_labels) return data_of_inputs(inputs, name);
    std::filesystem::path labels = options.labels;
    if (labels.empty() && format == FileFormat::Npy) return data_of_table(inputs, name, options);
    if (labels.empty()) labels = labels_beside(source);
    if (labels == source) {
        return bad_input(
            "'{}' is one IDX file; the file of its labels is needed as well (`labels`), because its name "
            "does not tell.",
            name);
    }
    YOLK_TRY(const FileArray of_labels, read_array(labels));
    return data_of_arrays(inputs, of_labels, name, shown(labels));
}

/// The member that is asked for, or the one with a usual name.
Result<const ZipMember*> npz_member(const std::vector<ZipMember>& members, std::span<const std::string_view> usual,
                                    const std::string& asked, const std::string& name, std::string_view role) {
    std::vector<std::string> names;
    for (const ZipMember& member : members) names.push_back(shown(member.name.substr(0, member.name.rfind(".npy"))));
    for (const std::string_view wanted : usual) {
        if (!asked.empty() && wanted != asked) continue;
        const auto found = std::ranges::find(names, wanted);
        if (found != names.end()) return &members[static_cast<std::size_t>(found - names.begin())];
    }
    return bad_input("'{}' has no array for the {}: {}; it has {}.", name, role,
                     asked.empty() ? fmt::format("one of {} is looked for", fmt::join(usual, ", "))
                                   : fmt::format("'{}' was asked for", shown(asked)),
                     fmt::join(names, ", "));
}

Result<DataSet> read_npz(const std::string& source, const DataOptions& options) {
    constexpr std::array<std::string_view, 6> kInputs{"x", "X", "data", "inputs", "images", "x_train"};
    constexpr std::array<std::string_view, 6> kLabels{"y", "Y", "labels", "label", "target", "y_train"};
    const std::string name = shown(source);
    YOLK_TRY(const std::string bytes, read_unpacked(source));
    YOLK_TRY(const std::vector<ZipMember> members, zip_members(bytes, name));
    const auto array = [&](const ZipMember& member) -> Result<FileArray> {
        YOLK_TRY(const std::string data, zip_data(bytes, member, name));
        return parse_npy(data, fmt::format("'{}' of '{}'", shown(member.name), name));
    };
    YOLK_TRY(const ZipMember* const of_inputs, npz_member(members, kInputs, "", name, "inputs"));
    YOLK_TRY(const FileArray inputs, array(*of_inputs));
    if (!options.has_labels) return data_of_inputs(inputs, name);
    const std::string_view asked[] = {options.label};
    YOLK_TRY(const ZipMember* const of_labels,
             npz_member(members, options.label.empty() ? std::span<const std::string_view>(kLabels) : asked,
                        options.label, name, "labels"));
    YOLK_TRY(const FileArray labels, array(*of_labels));
    return data_of_arrays(inputs, labels, name, fmt::format("{} of {}", shown(of_labels->name), name));
}

Result<DataSet> read_file_data(const std::string& source, const DataOptions& options) {
    const std::optional<FileFormat> format = format_of(source);
    if (!format) {
        return bad_input(
            "'{}' is no data set: {}, a file that ends in .csv, .tsv, .txt, .npy, .npz, .idx or -ubyte (with .gz "
            "behind it or not), or a folder of images.",
            shown(source), fmt::join(data_set_names(), ", "));
    }
    if (*format == FileFormat::Npz) return read_npz(source, options);
    if (*format != FileFormat::Csv) return read_array_file(source, *format, options);
    YOLK_TRY(const std::string text, read_unpacked(source));
    return parse_csv(text, shown(source), options);
}

Result<DataSet> read_named(const std::string& name, const NamedSource& source, bool has_labels) {
    DataSet data;
    const DataOptions options{.label = "", .labels = source.labels, .header = {}, .has_labels = has_labels};
    if (source.member.empty()) {
        YOLK_TRY(data, read_file_data(source.inputs, options));
    } else {
        YOLK_TRY(const std::string archive, read_text(source.inputs, kMostBytes));
        YOLK_TRY(const std::vector<ZipMember> members, zip_members(archive, shown(source.inputs)));
        const auto member = std::ranges::find(members, source.member, &ZipMember::name);
        if (member == members.end())
            return bad_input("'{}' has no {}; it is no wheel of scikit-learn.", shown(source.inputs), source.member);
        YOLK_TRY(const std::string packed, zip_data(archive, *member, shown(source.inputs)));
        YOLK_TRY(const std::string text, autotune::inflate(std::as_bytes(std::span(packed)), autotune::Packing::Gzip,
                                                           kMostBytes, source.member));
        YOLK_TRY(data, parse_csv(text, source.member, options));
    }
    data.name = name;
    if (!source.shape.empty()) data.shape = source.shape;
    for (std::string& label : data.labels) {
        std::size_t id = source.names.size();
        std::from_chars(label.data(), label.data() + label.size(), id);
        if (id < source.names.size()) label = source.names[id];
    }
    return data;
}

}  // namespace

const std::vector<std::string_view>& data_set_names() {
    static const std::vector<std::string_view> names{"digits", "fashion-mnist"};
    return names;
}

bool is_data_source(const std::string& source) {
    std::error_code ignored;
    return std::ranges::find(data_set_names(), source) != data_set_names().end() || source.ends_with(".whl") ||
           format_of(source).has_value() || std::filesystem::is_directory(source, ignored);
}

Result<DataSet> read_data(const std::string& source, const DataOptions& options) {
    YOLK_TRY(const std::optional<NamedSource> named, named_source(source, false));
    if (named) return read_named(source, *named, options.has_labels);
    std::error_code ignored;
    if (std::filesystem::is_directory(source, ignored)) return read_image_folder(source, options.has_labels);
    return read_file_data(source, options);
}

Result<std::optional<DataSet>> read_test_set(const std::string& source) {
    YOLK_TRY(const std::optional<NamedSource> named, named_source(source, true));
    if (!named) return std::optional<DataSet>();
    YOLK_TRY(DataSet data, read_named(source + " (test)", *named, true));
    return std::optional(std::move(data));
}

}  // namespace yolk::tasks
