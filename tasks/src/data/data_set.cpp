// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "yolk/data.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/shuffle.hpp"

namespace yolk::tasks {
namespace {

/// Of the split; other streams of the domain have 0.
constexpr std::uint32_t kSplitStream = 1;

std::optional<double> number_of_label(const std::string& label) {
    double number = 0.0;
    const auto [end, code] = std::from_chars(label.data(), label.data() + label.size(), number);
    return code == std::errc() && end == label.data() + label.size() ? std::optional(number) : std::nullopt;
}

Result<void> check_has_labels(const DataSet& data) {
    if (data.rows() == 0) return bad_input("'{}' has no rows.", data.name);
    if (data.labels.size() == data.rows()) return {};
    return bad_input("'{}' has {} rows and {} labels; each row needs one.", data.name, data.rows(), data.labels.size());
}

}  // namespace

std::size_t DataSet::width() const noexcept {
    std::size_t width = shape.empty() ? 0 : 1;
    for (const std::uint32_t extent : shape) width *= extent;
    return width;
}

std::size_t DataSet::rows() const noexcept { return width() == 0 ? 0 : inputs.size() / width(); }

std::string DataSet::place(std::size_t row) const {
    return row < lines.size() ? fmt::format("'{}', line {}", name, lines[row]) : fmt::format("'{}', row {}", name, row);
}

Result<Labelled> number_labels(const DataSet& data) {
    YOLK_TRY_VOID(check_has_labels(data));
    const std::set<std::string> distinct(data.labels.begin(), data.labels.end());
    Labelled labelled{.classes = {distinct.begin(), distinct.end()}};
    if (std::ranges::all_of(labelled.classes,
                            [](const std::string& label) { return number_of_label(label).has_value(); }))
        std::ranges::sort(labelled.classes, {}, [](const std::string& label) { return *number_of_label(label); });
    if (labelled.classes.size() < 2) {
        return bad_input("'{}' has one label, '{}', in all its rows; at least two are needed.", data.name,
                         shown(labelled.classes.front()));
    }
    if (labelled.classes.size() > 1024 && labelled.classes.size() * 2 > data.rows()) {
        return bad_input("'{}' has {} different labels in {} rows; the column of labels is probably another one.",
                         data.name, labelled.classes.size(), data.rows());
    }
    YOLK_TRY(labelled.ids, ids_of_labels(data, labelled.classes));
    return labelled;
}

Result<std::vector<std::uint32_t>> ids_of_labels(const DataSet& data, const std::vector<std::string>& classes) {
    YOLK_TRY_VOID(check_has_labels(data));
    std::vector<std::pair<std::string_view, std::uint32_t>> sorted;
    for (std::uint32_t id = 0; id < classes.size(); ++id) sorted.emplace_back(classes[id], id);
    std::ranges::sort(sorted);
    std::vector<std::uint32_t> ids;
    ids.reserve(data.rows());
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const auto found = std::ranges::lower_bound(sorted, std::string_view(data.labels[row]), {},
                                                    &std::pair<std::string_view, std::uint32_t>::first);
        if (found == sorted.end() || found->first != data.labels[row]) {
            std::vector<std::string> known;
            for (const std::string& label : classes) known.push_back(shown(label));
            return bad_input("{}: the label '{}' was not among those of the training: {}.", data.place(row),
                             shown(data.labels[row]), fmt::join(known, ", "));
        }
        ids.push_back(found->second);
    }
    return ids;
}

Result<Parts> split(const Labelled& labelled, double held_out, double test, std::uint64_t seed) {
    if (!(held_out >= 0.0) || !(test >= 0.0) || !(held_out + test < 1.0)) {
        return bad_input(
            "The share that is held out is {} and that of the test {}; both must be from 0, and together "
            "below 1.",
            held_out, test);
    }
    std::vector<std::vector<std::uint32_t>> by_class(labelled.classes.size());
    const auto rows = static_cast<std::uint32_t>(labelled.ids.size());
    for (const std::uint32_t row : shuffled({.seed = seed, .parameter = kSplitStream, .domain = Domain::Data}, rows))
        by_class[labelled.ids[row]].push_back(row);
    Parts parts;
    for (const std::vector<std::uint32_t>& of_class : by_class) {
        const auto all = static_cast<double>(of_class.size());
        const auto in_test = static_cast<std::size_t>(std::floor(all * test + 0.5));
        const auto not_trained = static_cast<std::size_t>(std::floor(all * (test + held_out) + 0.5));
        const std::size_t most = of_class.size() - 1;  // at least one is learned from
        for (std::size_t i = 0; i < of_class.size(); ++i) {
            const bool is_spared = i < std::min(not_trained, most);
            (is_spared ? (i < in_test ? parts.test : parts.held_out) : parts.training).push_back(of_class[i]);
        }
    }
    for (auto* const part : {&parts.training, &parts.held_out, &parts.test}) std::ranges::sort(*part);
    return parts;
}

Standardization standardization_of(const DataSet& data, const std::vector<std::uint32_t>& rows) {
    const std::size_t width = data.width();
    std::vector<double> sums(width, 0.0), squares(width, 0.0);
    for (const std::uint32_t row : rows) {
        for (std::size_t i = 0; i < width; ++i) sums[i] += double{data.inputs[row * width + i]};
    }
    const bool is_image = data.shape.size() > 1;
    const auto count = static_cast<double>(std::max<std::size_t>(1, rows.size()));
    const auto share_out = [&](std::vector<double>& of) {  // means; of an image's pixels all the same
        double all = 0.0;
        for (double& sum : of) all += sum /= count;
        if (is_image) std::ranges::fill(of, all / static_cast<double>(width));
    };
    share_out(sums);
    for (const std::uint32_t row : rows) {
        for (std::size_t i = 0; i < width; ++i) {
            const double from_mean = double{data.inputs[row * width + i]} - sums[i];
            squares[i] += from_mean * from_mean;
        }
    }
    share_out(squares);
    Standardization made;
    for (std::size_t i = 0; i < width; ++i) {
        made.mean.push_back(static_cast<float>(sums[i]));
        made.scale.push_back(squares[i] > 0.0 ? static_cast<float>(1.0 / std::sqrt(squares[i])) : 0.0F);
    }
    return made;
}

std::vector<float> standardized(const DataSet& data, const std::vector<std::uint32_t>& rows,
                                const Standardization& by) {
    const std::size_t width = data.width();
    std::vector<float> inputs;
    inputs.reserve(rows.size() * width);
    for (const std::uint32_t row : rows) {
        for (std::size_t i = 0; i < width; ++i)
            inputs.push_back((data.inputs[row * width + i] - by.mean[i]) * by.scale[i]);
    }
    return inputs;
}

}  // namespace yolk::tasks
