// SPDX-License-Identifier: Apache-2.0
#include "read_arrays.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data_files.hpp"
#include "yolk/data.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::tasks {
namespace {

using ::yolk::testing::expect_error;
using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

TEST(read_npy, types) {
    using Numbers = std::vector<double>;
    EXPECT_EQ(parse_npy(npy("<f4", "(2,)", raw({1.5F, -2.0F})), "a")->numbers, (Numbers{1.5, -2}));
    EXPECT_EQ(parse_npy(npy("<f8", "(1, 1)", raw({0.1})), "a")->numbers, Numbers{0.1});
    EXPECT_EQ(parse_npy(npy(">i2", "(2,)", std::string("\xFF\xFE\x01\x00", 4)), "a")->numbers, (Numbers{-2, 256}));
    EXPECT_EQ(parse_npy(npy("|u1", "(2,)", "\x07\xFF"), "a")->numbers, (Numbers{7, 255}));
    EXPECT_EQ(parse_npy(npy("<f2", "(3,)", std::string("\x00\x3C\x00\xC0\x01\x00", 6)), "a")->numbers,
              (Numbers{1, -2, 0x1p-24}));
    EXPECT_EQ(parse_npy(npy("<U2", "(2,)", raw<std::uint32_t>({'a', 0xE9, 'b', 0})), "a")->texts,
              (Texts{"a\xC3\xA9", "b"}));
    EXPECT_EQ(parse_npy(npy("|u1", "(2, 3)", std::string("\x01\x04\x02\x05\x03\x06"), true), "a")->numbers,
              (Numbers{1, 2, 3, 4, 5, 6}));
}
TEST(read_npy, bad_ones) {
    const auto refused = [](const std::string& bytes, const char* part) {
        EXPECT_TRUE(expect_error(parse_npy(bytes, "'a.npy'"), ErrorKind::BadInput, part)) << part;
    };
    refused("PK", "does not begin as a .npy file does");
    refused(npy("<f4", "(2,)", raw({1.0F})), "promises another amount");
    refused(npy("<f4", "(1,)", raw({1.0F, 2.0F})), "promises another amount");
    refused(npy("<f4", "(4294967296, 4294967296, 4294967296)", ""), "promises another amount");
    refused(npy("|O", "(1,)", ""), "type '|O'");
    refused(npy("<c8", "(1,)", raw({1.0})), "type '<c8'");
    refused(npy("<f4", "(", ""), "header");
    refused(npy("<f4", "(2,)", "").substr(0, 20), "cut off within its header");
}

class array_files : public ::testing::Test {
   protected:
    DataFolder folder_;
};

TEST_F(array_files, npy_with_labels_in_the_last_column_or_beside_it) {
    const std::string table = folder_.write("t.npy", npy("<f4", "(2, 3)", raw({1.0F, 2.0F, 0.0F, 3.0F, 4.0F, 1.0F})));
    ASSERT_OK_AND_ASSIGN(const DataSet last, read_data(table));
    EXPECT_EQ(last.inputs, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(last.labels, (Texts{"0", "1"}));
    EXPECT_EQ(read_data(table, {.label = "0"})->labels, (Texts{"1", "3"}));
    const std::string names = folder_.write("y.npy", npy("<U1", "(2,)", raw<std::uint32_t>({'a', 'b'})));
    ASSERT_OK_AND_ASSIGN(const DataSet beside, read_data(table, {.labels = names}));
    EXPECT_EQ(beside.width(), 3U);
    EXPECT_EQ(beside.labels, (Texts{"a", "b"}));
    const std::string nan = folder_.write("n.npy", npy("<f4", "(1, 2)", raw<float>({NAN, 2.0F})));
    EXPECT_TRUE(expect_error(read_data(nan), ErrorKind::BadInput, "n.npy', row 0, element 0: nan"));
    const std::string one = folder_.write("o.npy", npy("|u1", "(1,)", "\x01"));
    EXPECT_TRUE(expect_error(read_data(table, {.labels = one}), ErrorKind::BadInput, "each row needs one label"));
}

TEST_F(array_files, idx) {
    const std::string images = folder_.write("t-images-idx3-ubyte", idx(8, {2, 1, 2}, "\x01\x02\x03\x04"));
    EXPECT_TRUE(expect_error(read_data(images), ErrorKind::Io, "t-labels-idx1-ubyte"));
    (void)folder_.write("t-labels-idx1-ubyte", idx(8, {2}, std::string("\x07\x00", 2)));
    ASSERT_OK_AND_ASSIGN(const DataSet data, read_data(images));
    EXPECT_EQ(data.inputs, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(data.shape, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(data.labels, (Texts{"7", "0"}));
    EXPECT_TRUE(expect_error(parse_idx(idx(8, {2, 1, 2}, "\x01\x02\x03"), "a"), ErrorKind::BadInput, "cut off"));
    EXPECT_TRUE(expect_error(parse_idx(idx(8, {255, 255, 255, 255, 255, 255, 255, 255, 255}, "1"), "a"),
                             ErrorKind::BadInput, "cut off"));
    EXPECT_TRUE(expect_error(parse_idx("\x7F"
                                       "ELF",
                                       "a"),
                             ErrorKind::BadInput, "no IDX file"));
    EXPECT_EQ(parse_idx(idx(0x0C, {1}, "\xFF\xFF\xFF\xFE"), "a")->numbers, std::vector<double>{-2});
}

TEST_F(array_files, npz) {
    const std::string bytes = zip_of({{"x.npy", npy("<f4", "(2, 1)", raw({1.0F, 2.0F}))},
                                      {"y.npy", npy("|u1", "(2,)", std::string("\x00\x01", 2))},
                                      {"kind.npy", npy("<U1", "(2,)", raw<std::uint32_t>({'p', 'q'}))}});
    const std::string path = folder_.write("t.npz", bytes);
    EXPECT_EQ(read_data(path)->labels, (Texts{"0", "1"}));
    EXPECT_EQ(read_data(path)->inputs, (Floats{1, 2}));
    EXPECT_EQ(read_data(path, {.label = "kind"})->labels, (Texts{"p", "q"}));
    EXPECT_TRUE(expect_error(read_data(path, {.label = "z"}), ErrorKind::BadInput, "it has x, y, kind"));
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(read_data(folder_.write("cut.npz", bytes.substr(0, size))).has_value()) << size;
    for (std::size_t at = 0; at < bytes.size(); ++at) {  // no crash; most are refused
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        (void)read_data(folder_.write("damaged.npz", damaged));
    }
}

TEST_F(array_files, image_folder) {
    const std::string cat = png_of(2, 1, false, {10, 20});
    (void)folder_.write("pets/cat/1.png", cat);
    (void)folder_.write("pets/dog/b.pgm", "P5\n# made by hand\n2 1\n255\n\x01\x02");
    (void)folder_.write("pets/dog/a.png", png_of(2, 1, false, {3, 4}));
    const std::string pets = (folder_.path() / "pets").string();
    ASSERT_OK_AND_ASSIGN(const DataSet data, read_data(pets));
    EXPECT_EQ(data.inputs, (Floats{10, 20, 3, 4, 1, 2}));
    EXPECT_EQ(data.labels, (Texts{"cat", "dog", "dog"}));
    EXPECT_EQ(data.shape, (std::vector<std::uint32_t>{1, 2}));

    (void)folder_.write("rgb/a/1.png", png_of(1, 1, true, {1, 2, 3}));
    EXPECT_EQ(read_data((folder_.path() / "rgb").string())->shape, (std::vector<std::uint32_t>{1, 1, 3}));

    (void)folder_.write("pets/dog/c.png", png_of(1, 2, false, {3, 4}));
    EXPECT_TRUE(expect_error(read_data(pets), ErrorKind::BadInput, "all images need one size"));
    for (std::size_t size = 0; size < cat.size() - 12; ++size) {  // the end mark's loss is harmless
        (void)folder_.write("pets/dog/c.png", cat.substr(0, size));
        EXPECT_TRUE(expect_error(read_data(pets), ErrorKind::BadInput, "c.png"));
    }
    std::string huge = cat;  // 2^30 x 2^30 pixels, with the checksum of the header put right
    std::memcpy(huge.data() + 16, "\x40\x00\x00\x00\x40\x00\x00\x00", 8);
    const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(huge.data() + 12), 17));
    for (std::size_t i = 0; i < 4; ++i) huge[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
    (void)folder_.write("pets/dog/c.png", huge);
    EXPECT_TRUE(expect_error(read_data(pets), ErrorKind::BadInput, "c.png"));
    (void)folder_.write("pets/dog/c.png", "GIF89a");
    EXPECT_TRUE(expect_error(read_data(pets), ErrorKind::BadInput, "no image that is read here"));
    std::filesystem::create_directories(folder_.path() / "pets/eel");
    std::filesystem::remove(folder_.path() / "pets/dog/c.png");
    EXPECT_TRUE(expect_error(read_data(pets), ErrorKind::BadInput, "eel' has no images"));
}

TEST(named_data_sets, fashion_mnist) {
    ASSERT_OK_AND_ASSIGN(const std::optional<DataSet> test, read_test_set("fashion-mnist"));
    ASSERT_TRUE(test);
    EXPECT_EQ(test->rows(), 10000U);
    EXPECT_EQ(test->shape, (std::vector<std::uint32_t>{28, 28}));
    EXPECT_EQ(test->labels.front(), "Ankle boot");  // a 9
    ASSERT_OK_AND_ASSIGN(const Labelled labelled, number_labels(*test));
    for (std::uint32_t id = 0; id < 10; ++id) EXPECT_EQ(std::ranges::count(labelled.ids, id), 1000) << id;
}

}  // namespace
}  // namespace yolk::tasks
