// SPDX-License-Identifier: Apache-2.0
#include "10_transformer_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace transformer_example {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostHeldOut = 512;  // windows
constexpr std::size_t kBytes = 256;
constexpr std::size_t kLongestText = std::size_t{1} << 30U;
/// Added to each count, so that what the training text lacks has a probability.
constexpr double kPrior = 0.1;

/// Empty where there is no such file, or none of a text's size.
std::string read_text(const fs::path& path) {
    std::error_code none;
    if (!fs::is_regular_file(path, none) || fs::file_size(path, none) > kLongestText) return {};
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> read_texts(const fs::path& path) {
    std::vector<fs::path> files;
    std::error_code none;
    if (fs::is_directory(path, none)) {
        for (const auto& entry : fs::directory_iterator(path, none)) {
            if (entry.is_regular_file(none) && !entry.is_symlink(none)) files.push_back(entry.path());
        }
        std::ranges::sort(files);
    } else {
        files.push_back(path);
    }
    std::vector<std::string> texts;
    for (const fs::path& file : files) {
        std::string text = read_text(file);
        if (!text.empty() && text.find('\0') == std::string::npos) texts.push_back(std::move(text));
    }
    return texts;
}

void append_windows(const std::string& text, std::uint32_t context, std::vector<yolk::hyper::Example>& examples) {
    for (std::size_t first = 0; first + context < text.size(); first += context) {
        std::vector<float> bytes;
        std::vector<float> following;
        for (std::size_t i = first; i < first + context; ++i) {
            bytes.push_back(static_cast<unsigned char>(text[i]));
            following.push_back(static_cast<unsigned char>(text[i + 1]));
        }
        examples.push_back({{{"bytes", yolk::hyper::Tensor::vector(std::move(bytes))}},
                            yolk::hyper::Tensor::vector(std::move(following))});
    }
}

/// How often bytes follow each other.
struct Counts {
    std::array<double, kBytes> bytes{};
    std::array<std::array<double, kBytes>, kBytes> pairs{};
    double all = 0.0;
};

template <class Visit>
void for_each_pair(const std::vector<yolk::hyper::Example>& examples, Visit visit) {
    for (const yolk::hyper::Example& example : examples) {
        const auto from = example.inputs.at("bytes").tensor()->values();
        const auto to = example.expected.tensor()->values();
        for (std::size_t i = 0; i < from.size(); ++i)
            visit(static_cast<std::size_t>(from[i]), static_cast<std::size_t>(to[i]));
    }
}

void score_counts(Windows& windows) {
    auto counts = std::make_unique<Counts>();
    std::array<double, kBytes> first{};
    for_each_pair(windows.training, [&](std::size_t from, std::size_t to) {
        first[from] += 1.0;
        counts->bytes[to] += 1.0;
        counts->pairs[from][to] += 1.0;
        counts->all += 1.0;
    });
    double scored = 0.0;
    for_each_pair(windows.held_out, [&](std::size_t from, std::size_t to) {
        windows.unigrams += std::log((counts->bytes[to] + kPrior) / (counts->all + kPrior * kBytes));
        windows.bigrams += std::log((counts->pairs[from][to] + kPrior) / (first[from] + kPrior * kBytes));
        scored += 1.0;
    });
    windows.unigrams /= scored;
    windows.bigrams /= scored;
}

}  // namespace

std::optional<Windows> read_windows(const fs::path& path, std::uint32_t context) {
    Windows windows;
    std::vector<yolk::hyper::Example> held_out;
    for (const std::string& text : read_texts(path)) {
        const std::size_t cut = text.size() / 10 * 9;
        append_windows(text.substr(0, cut), context, windows.training);
        append_windows(text.substr(cut), context, held_out);
    }
    if (windows.training.empty() || held_out.empty()) return std::nullopt;
    const std::size_t count = std::min(kMostHeldOut, held_out.size());
    for (std::size_t i = 0; i < count; ++i)
        windows.held_out.push_back(std::move(held_out[i * held_out.size() / count]));
    score_counts(windows);
    return windows;
}

}  // namespace transformer_example
