// SPDX-License-Identifier: Apache-2.0
#include "sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "yolk/internal/core/printable.hpp"

namespace yolk::tasks {
namespace {

constexpr const char* kDigitsMember = "sklearn/datasets/data/digits.csv.gz";
constexpr const char* kFashionFolder = "/usr/share/datasets/fashion-mnist";

/// Folders in which Python's packages are installed: of the environment that is active, the user's, the system's.
std::vector<std::filesystem::path> package_folders() {
    std::vector<std::filesystem::path> roots;
    for (const auto& [variable, below] : {std::pair{"VIRTUAL_ENV", "lib"}, std::pair{"HOME", ".local/lib"}}) {
        if (const char* const root = std::getenv(variable); root != nullptr && *root != '\0')
            roots.emplace_back(std::filesystem::path(root) / below);
    }
    roots.insert(roots.end(), {"/usr/local/lib", "/usr/lib"});
    std::vector<std::filesystem::path> folders;
    for (const std::filesystem::path& root : roots) {
        std::error_code code;
        for (std::filesystem::directory_iterator entry(root, code), end; !code && entry != end; entry.increment(code)) {
            if (!entry->path().filename().string().starts_with("python3")) continue;
            folders.push_back(entry->path() / "site-packages");
            folders.push_back(entry->path() / "dist-packages");
        }
    }
    return folders;
}

Result<NamedSource> digits() {
    const std::vector<std::filesystem::path> folders = package_folders();
    for (const std::filesystem::path& folder : folders) {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(folder / kDigitsMember, ignored))
            return NamedSource{.inputs = (folder / kDigitsMember).string(), .shape = {8, 8}};
    }
    std::vector<std::string> looked_at;
    for (const std::filesystem::path& folder : folders) looked_at.push_back(shown(folder));
    return bad_input(
        "digits is a part of scikit-learn, which is not installed in {}. Install it, or fetch its wheel (`pip download "
        "--no-deps scikit-learn`) and give the wheel's path in place of digits.",
        fmt::join(looked_at, ", "));
}

Result<NamedSource> fashion_mnist(bool is_test) {
    const std::string prefix = fmt::format("{}/{}", kFashionFolder, is_test ? "t10k" : "train");
    NamedSource source{.inputs = prefix + "-images-idx3-ubyte.gz",
                       .labels = prefix + "-labels-idx1-ubyte.gz",
                       .names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker",
                                 "Bag", "Ankle boot"}};
    std::error_code ignored;
    if (std::filesystem::is_regular_file(source.inputs, ignored)) return source;
    return bad_input(
        "fashion-mnist is not in {}. Install Debian's package dataset-fashion-mnist, or give the path of "
        "the images' IDX file, with that of the labels beside it.",
        kFashionFolder);
}

}  // namespace

Result<std::optional<NamedSource>> named_source(const std::string& name, bool is_test) {
    const bool is_digits = name == "digits";
    const bool is_wheel = name.ends_with(".whl");
    if (!is_digits && !is_wheel && name != "fashion-mnist") return std::optional<NamedSource>();
    if (is_test && (is_digits || is_wheel)) return std::optional<NamedSource>();
    if (is_wheel) return std::optional(NamedSource{.inputs = name, .member = kDigitsMember, .shape = {8, 8}});
    YOLK_TRY(NamedSource source, is_digits ? digits() : fashion_mnist(is_test));
    return std::optional(std::move(source));
}

}  // namespace yolk::tasks
