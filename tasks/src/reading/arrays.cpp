// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "read_arrays.hpp"
#include "read_table.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::tasks {
namespace {

Result<void> add_input(DataSet& data, double number, std::size_t at) {
    const auto value = static_cast<float>(number);
    if (!std::isfinite(value)) {
        return bad_input("'{}', row {}, element {}: {} is not a finite fp32 number.", data.name, at / data.width(),
                         at % data.width(), number);
    }
    data.inputs.push_back(value);
    return {};
}

std::string label_in(const FileArray& labels, std::size_t at) {
    return labels.is_text() ? labels.texts[at] : label_of_number(labels.numbers[at]);
}

}  // namespace

std::uint64_t elements_of(const std::vector<std::uint64_t>& shape, std::uint64_t most) noexcept {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) {
        if (extent == 0) return 0;
        count = count > most / extent ? most + 1 : count * extent;
    }
    return count;
}

Result<DataSet> data_of_inputs(const FileArray& inputs, const std::string& name) {
    if (inputs.is_text()) return bad_input("'{}' holds texts; inputs are numbers.", name);
    if (inputs.shape.size() < 2 || inputs.numbers.empty()) {
        return bad_input("'{}' has the shape [{}]; inputs are [rows, ...], with at least one row and one element.",
                         name, fmt::join(inputs.shape, ", "));
    }
    DataSet data{.name = name, .shape = {}, .columns = {}, .inputs = {}, .labels = {}, .lines = {}};
    data.shape.assign(inputs.shape.begin() + 1, inputs.shape.end());
    for (std::size_t i = 0; i < inputs.numbers.size(); ++i) YOLK_TRY_VOID(add_input(data, inputs.numbers[i], i));
    return data;
}

Result<DataSet> data_of_arrays(const FileArray& inputs, const FileArray& labels, const std::string& name,
                               const std::string& labels_name) {
    YOLK_TRY(DataSet data, data_of_inputs(inputs, name));
    if (labels.shape.size() != 1 || labels.shape[0] != inputs.shape[0]) {
        return bad_input("'{}' has the shape [{}], and '{}' [{}]; each row needs one label.", labels_name,
                         fmt::join(labels.shape, ", "), name, fmt::join(inputs.shape, ", "));
    }
    for (std::size_t row = 0; row < data.rows(); ++row) {
        if (!labels.is_text() && !std::isfinite(labels.numbers[row]))
            return bad_input("'{}', row {}: {} is no label.", labels_name, row, labels.numbers[row]);
        data.labels.push_back(label_in(labels, row));
    }
    return data;
}

Result<DataSet> data_of_table(const FileArray& table, const std::string& name, const DataOptions& options) {
    if (!options.has_labels) return data_of_inputs(table, name);
    if (table.is_text() || table.shape.size() != 2 || table.shape[1] < 2 || table.numbers.empty()) {
        return bad_input(
            "'{}' has {} of the shape [{}]; without a file of labels, numbers as [rows, columns] are "
            "needed, one column of which has the labels.",
            name, table.is_text() ? "texts" : "numbers", fmt::join(table.shape, ", "));
    }
    const std::size_t columns = table.shape[1];
    std::size_t label = columns - 1;
    if (!options.label.empty()) {
        const char* const end = options.label.data() + options.label.size();
        const auto [stop, code] = std::from_chars(options.label.data(), end, label);
        if (code != std::errc() || stop != end || label >= columns) {
            return bad_input(
                "'{}' has columns without names, so the label's column '{}' must be a number from 0 to {}.", name,
                shown(options.label), columns - 1);
        }
    }
    DataSet data{.name = name,
                 .shape = {static_cast<std::uint32_t>(columns - 1)},
                 .columns = {},
                 .inputs = {},
                 .labels = {},
                 .lines = {}};
    for (std::size_t i = 0; i < table.numbers.size(); ++i) {
        if (i % columns != label) {
            YOLK_TRY_VOID(add_input(data, table.numbers[i], i - i / columns - (i % columns > label ? 1 : 0)));
        } else if (std::isfinite(table.numbers[i])) {
            data.labels.push_back(label_of_number(table.numbers[i]));
        } else {
            return bad_input("'{}', row {}: {} is no label.", name, i / columns, table.numbers[i]);
        }
    }
    return data;
}

}  // namespace yolk::tasks
