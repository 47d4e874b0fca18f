// SPDX-License-Identifier: Apache-2.0
// Files of arrays: NumPy's and IDX.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/data.hpp"

namespace yolk::tasks {

/// Numbers, or texts, of any shape.
struct FileArray {
    std::vector<std::uint64_t> shape{};
    std::vector<double> numbers{};
    std::vector<std::string> texts{};  ///< in place of numbers
    [[nodiscard]] bool is_text() const noexcept { return !texts.empty(); }
};

/// Of a shape that a file claims; above `most` where there are more than that, whatever the product is.
[[nodiscard]] std::uint64_t elements_of(const std::vector<std::uint64_t>& shape, std::uint64_t most) noexcept;

/// `name` is what errors call the bytes. Errors: no .npy, another version, objects, data that are cut off or too long.
[[nodiscard]] Result<FileArray> parse_npy(std::string_view bytes, const std::string& name);
/// IDX: two zero bytes, a type, the number of dimensions, extents and data, big-endian.
[[nodiscard]] Result<FileArray> parse_idx(std::string_view bytes, const std::string& name);

/// The rows of `inputs` with the labels beside them: numbers, or texts. Errors: other numbers of rows, inputs that are
/// texts or not finite, labels that are not [rows].
[[nodiscard]] Result<DataSet> data_of_arrays(const FileArray& inputs, const FileArray& labels, const std::string& name,
                                             const std::string& labels_name);
/// A table [rows, columns], one column of which has the labels.
[[nodiscard]] Result<DataSet> data_of_table(const FileArray& table, const std::string& name,
                                            const DataOptions& options);
/// Without labels.
[[nodiscard]] Result<DataSet> data_of_inputs(const FileArray& inputs, const std::string& name);

}  // namespace yolk::tasks
