// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "data_files.hpp"
#include "yolk/data.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::tasks {
namespace {

using ::yolk::testing::expect_error;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

class read_csv : public ::testing::Test {
   protected:
    [[nodiscard]] Result<DataSet> read(std::string_view text, const DataOptions& options = {}) const {
        return read_data(folder_.write("t.csv", text), options);
    }
    /// The error has all these parts, and none of the text's bytes are lost on the way.
    void expect_refused(std::string_view text, std::initializer_list<const char*> parts,
                        const DataOptions& options = {}) const {
        for (const char* const part : parts) EXPECT_TRUE(expect_error(read(text, options), ErrorKind::BadInput, part));
    }
    DataFolder folder_;
};

TEST_F(read_csv, header_and_texts) {
    ASSERT_OK_AND_ASSIGN(const DataSet data,
                         read("width,\"height, in cm\",kind\r\n1,2.5,cat\r\n-3e1, 4 ,\"a \"\"dog\"\"\"\r\n"));
    EXPECT_EQ(data.columns, (Texts{"width", "height, in cm"}));
    EXPECT_EQ(data.inputs, (Floats{1, 2.5F, -30, 4}));
    EXPECT_EQ(data.labels, (Texts{"cat", "a \"dog\""}));
    EXPECT_EQ(data.lines, (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(data.shape, std::vector<std::uint32_t>{2});
}
TEST_F(read_csv, no_header_and_a_label_in_front) {
    ASSERT_OK_AND_ASSIGN(const DataSet data, read("1.0;5;6\n\n2;7;8", {.label = "0"}));
    EXPECT_EQ(data.labels, (Texts{"1", "2"}));
    EXPECT_EQ(data.inputs, (Floats{5, 6, 7, 8}));
    EXPECT_EQ(data.lines, (std::vector<std::uint32_t>{1, 3}));
}
TEST_F(read_csv, label_by_name_and_header_by_hand) {
    ASSERT_OK_AND_ASSIGN(const DataSet data, read("a\tspecies\t3\n1\tx\t2\n", {.label = "species", .header = true}));
    EXPECT_EQ(data.labels, Texts{"x"});
    EXPECT_EQ(data.columns, (Texts{"a", "3"}));
}
TEST_F(read_csv, without_labels) {
    ASSERT_OK_AND_ASSIGN(const DataSet data, read("1,2\n3,4\n", {.has_labels = false}));
    EXPECT_EQ(data.inputs, (Floats{1, 2, 3, 4}));
    EXPECT_TRUE(data.labels.empty());
}
TEST_F(read_csv, quoted_field_over_lines_counts_them) {
    expect_refused("a,b\n1,\"x\ny\"\n,z\n", {"line 4, column 1 ('a') is empty"});
}
TEST_F(read_csv, bad_fields_have_a_place) {
    expect_refused("a,b,c\n1,2,x\n1,,x\n", {"t.csv", "line 3, column 2 ('b') is empty"});
    expect_refused("a,b,c\n1,2,\n", {"line 2, column 3 ('c') is empty"});
    expect_refused("a,b,c\n1,2,x\n1,2\n", {"line 3, has 2 fields, but the first line has 3"});
    expect_refused("a,b,c\n1,2,x\n1,2,3,4\n", {"line 3, has 4 fields"});
    expect_refused("a,b\nnan,x\n", {"line 2, column 1 ('a')", "not a finite"});
    expect_refused("a,b\n1e39,x\n", {"line 2, column 1 ('a')", "not a finite"});
    expect_refused("a,b\nred,x\n", {"'red', which is not a number"});
    expect_refused("a,b\n1,\"x\n", {"line 2, column 2: the quotation mark that opens here is never closed"});
    expect_refused("a,b\n1,\"x\"y\n", {"line 2, column 2: there is text after the closing quotation mark"});
    expect_refused(std::string_view("a,b\n1\0,x\n", 9), {"line 2, has a zero byte"});
}
TEST_F(read_csv, bad_files) {
    expect_refused("", {"no line with data"});
    expect_refused("a,b\n", {"a header and no line with data"});
    expect_refused("a\nx\n", {"one column"});
    expect_refused("a,b\n1,x\n", {"no column 'c' for the labels; its columns are a, b"}, {.label = "c"});
    expect_refused("1,2\n", {"a number from 0 to 1"}, {.label = "2"});
    EXPECT_TRUE(expect_error(read_data((folder_.path() / "none.csv").string()), ErrorKind::Io, "none.csv"));
    EXPECT_TRUE(expect_error(read_data("digit"), ErrorKind::BadInput, "digits, fashion-mnist"));
}
TEST_F(read_csv, packed) {
    const std::string path = (folder_.path() / "t.csv.gz").string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzputs(file, "1,2,x\n3,4,y\n");
    gzclose(file);
    ASSERT_OK_AND_ASSIGN(const DataSet data, read_data(path));
    EXPECT_EQ(data.inputs, (Floats{1, 2, 3, 4}));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
    EXPECT_TRUE(expect_error(read_data(path), ErrorKind::BadInput, "damaged or cut off"));
}

DataSet rows_of(Texts labels) {
    DataSet data{
        .name = "d", .shape = {1}, .columns = {}, .inputs = Floats(labels.size(), 1), .labels = {}, .lines = {}};
    data.labels = std::move(labels);
    return data;
}

TEST(data_labels, numbers_are_ordered_as_numbers) {
    EXPECT_EQ(number_labels(rows_of({"10", "9", "10", "-1.5"}))->classes, (Texts{"-1.5", "9", "10"}));
    EXPECT_EQ(number_labels(rows_of({"b", "10", "9"}))->classes, (Texts{"10", "9", "b"}));
    EXPECT_EQ(number_labels(rows_of({"b", "a", "b"}))->ids, (std::vector<std::uint32_t>{1, 0, 1}));
}
TEST(data_labels, bad_ones) {
    EXPECT_TRUE(expect_error(number_labels(rows_of({"a", "a"})), ErrorKind::BadInput, "one label, 'a'"));
    EXPECT_TRUE(expect_error(number_labels(rows_of({})), ErrorKind::BadInput, "no rows"));
    DataSet data = rows_of({"a", "c"});
    data.lines = {2, 3};
    EXPECT_TRUE(expect_error(ids_of_labels(data, {"a", "b"}), ErrorKind::BadInput,
                             "'d', line 3: the label 'c' was not among those of the training: a, b"));
}

TEST(data_split, every_class_gives_its_share) {
    Labelled labelled{.classes = {"many", "few", "one"}, .ids = std::vector<std::uint32_t>(100, 0)};
    labelled.ids.insert(labelled.ids.end(), 10, 1);
    labelled.ids.push_back(2);
    ASSERT_OK_AND_ASSIGN(const Parts parts, split(labelled, 0.1, 0.2, 7));
    const auto count = [&](const std::vector<std::uint32_t>& rows, std::uint32_t id) {
        return std::ranges::count_if(rows, [&](std::uint32_t row) { return labelled.ids[row] == id; });
    };
    EXPECT_EQ(count(parts.training, 0), 70);
    EXPECT_EQ(count(parts.held_out, 0), 10);
    EXPECT_EQ(count(parts.test, 0), 20);
    EXPECT_EQ(count(parts.training, 1), 7);
    EXPECT_EQ(count(parts.training, 2), 1);
    std::vector<std::uint32_t> all = parts.training;
    all.insert(all.end(), parts.held_out.begin(), parts.held_out.end());
    all.insert(all.end(), parts.test.begin(), parts.test.end());
    std::ranges::sort(all);
    for (std::uint32_t row = 0; row < 111; ++row) EXPECT_EQ(all[row], row);
    EXPECT_EQ(split(labelled, 0.1, 0.2, 7)->test, parts.test);
    EXPECT_NE(split(labelled, 0.1, 0.2, 8)->test, parts.test);
    EXPECT_TRUE(expect_error(split(labelled, 0.5, 0.5, 1), ErrorKind::BadInput, "together below 1"));
    EXPECT_TRUE(expect_error(split(labelled, -0.1, 0.2, 1), ErrorKind::BadInput, "from 0"));
}

TEST(data_standardization, of_columns_and_of_images) {
    DataSet data{.name = "d", .shape = {2}, .columns = {}, .inputs = {1, 5, 3, 5, 100, 100}, .labels = {}, .lines = {}};
    const Standardization columns = standardization_of(data, {0, 1});
    EXPECT_EQ(columns.mean, (Floats{2, 5}));
    EXPECT_EQ(standardized(data, {0, 1, 2}, columns), (Floats{-1, 0, 1, 0, 98, 0})) << "the constant column is 0";
    data.shape = {1, 2};
    EXPECT_EQ(standardization_of(data, {0, 1}).mean, (Floats{3.5F, 3.5F}));
}

}  // namespace
}  // namespace yolk::tasks
