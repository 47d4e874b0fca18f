// SPDX-License-Identifier: Apache-2.0
// Data sets: rows of numbers with a label each, read from the files in which people keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::tasks {

struct DataSet {
    std::string name{};                  ///< of the file or the set, for messages
    std::vector<std::uint32_t> shape{};  ///< of one row's inputs: {4}, {28, 28}, {32, 32, 3}
    std::vector<std::string> columns{};  ///< names of the inputs, where the file has any
    std::vector<float> inputs{};         ///< [rows, width], finite
    std::vector<std::string> labels{};   ///< one per row; empty where the rows have none
    std::vector<std::uint32_t> lines{};  ///< where each row begins in a text file; empty for other files

    [[nodiscard]] std::size_t width() const noexcept;  ///< inputs of a row
    [[nodiscard]] std::size_t rows() const noexcept;
    /// "'iris.csv', line 12" or "'x.npy', row 11": for messages.
    [[nodiscard]] std::string place(std::size_t row) const;
};

struct DataOptions {
    /// Which column of a table, or which member of an .npz archive, has the labels: a name, or a column's number from
    /// 0. Empty: a table's last column, and of an archive y, labels, label or target.
    std::string label{};
    /// The labels' own file, of a .npy or an IDX file. Empty: images-idx3 in an IDX file's name becomes labels-idx1,
    /// and the last column of a .npy table has the labels.
    std::filesystem::path labels{};
    std::optional<bool> header{};  ///< of a CSV file. Nothing: its first line is one if none of its fields is a number
    bool has_labels = true;        ///< false: all columns are inputs
};

/// `source` is
/// - digits: 1,797 handwritten digits of 8 x 8 from an installed scikit-learn, or the path of its wheel;
/// - fashion-mnist: 60,000 images of 28 x 28 from Debian's package dataset-fashion-mnist;
/// - a CSV file (separated by commas, semicolons or tabs), a .npy or .npz file, an IDX file, each of them also as
///   .gz; numbers as inputs, and labels that are numbers or texts;
/// - a folder with a sub-folder of images (PNG of 8 bits; PGM, PPM) for each label.
///
/// Errors name the file, and what they can of line, column, member or row: a file that is missing, of another kind, cut
/// off or damaged, a field that is empty or no finite number, rows of unequal length, images of unequal size. Memory is
/// taken for what is in the file, not for what its header says.
[[nodiscard]] Result<DataSet> read_data(const std::string& source, const DataOptions& options = {});
/// The test set that belongs to the source: fashion-mnist's. Nothing where there is none.
[[nodiscard]] Result<std::optional<DataSet>> read_test_set(const std::string& source);
/// Whether a source is of this form: a known name, a folder, or a file's name with an ending of the list above.
[[nodiscard]] bool is_data_source(const std::string& source);
/// digits, fashion-mnist.
[[nodiscard]] const std::vector<std::string_view>& data_set_names();

/// Labels as numbers: position in `classes`.
struct Labelled {
    std::vector<std::string> classes{};  ///< in order: of numbers if all are, else of texts
    std::vector<std::uint32_t> ids{};    ///< [rows]
};
/// Errors: no labels, fewer than two classes.
[[nodiscard]] Result<Labelled> number_labels(const DataSet& data);
/// Errors: no labels, a label that is none of `classes`, with its place and the classes.
[[nodiscard]] Result<std::vector<std::uint32_t>> ids_of_labels(const DataSet& data,
                                                               const std::vector<std::string>& classes);

/// Row numbers, drawn by the seed: each class gives its share to each part, and at least one row to the training.
struct Parts {
    std::vector<std::uint32_t> training{}, held_out{}, test{};
};
/// Shares from 0, together below 1.
[[nodiscard]] Result<Parts> split(const Labelled& labelled, double held_out, double test, std::uint64_t seed);

/// (x - mean) * scale makes inputs of mean 0 and variance 1: [width] each.
struct Standardization {
    std::vector<float> mean{}, scale{};
};
/// Of these rows: for each column of a table, for all pixels of images together. A column that never changes becomes 0.
[[nodiscard]] Standardization standardization_of(const DataSet& data, const std::vector<std::uint32_t>& rows);
/// These rows, standardized: [rows, width].
[[nodiscard]] std::vector<float> standardized(const DataSet& data, const std::vector<std::uint32_t>& rows,
                                              const Standardization& by);

}  // namespace yolk::tasks
