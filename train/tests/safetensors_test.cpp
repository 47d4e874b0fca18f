// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/internal/core/seal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TensorFile example_tensors() {
    return {.metadata = {{"format", "x"}, {"task", "cart\"pole"}},
            .tensors = {{.name = "w", .shape = {2, 3}, .values = {1, 2, 3, 4, 5, 6}},
                        {.name = "b", .shape = {2}, .values = {-1, 0.5F}},
                        {.name = "empty", .shape = {0, 4}, .values = {}},
                        {.name = "scalar", .shape = {}, .values = {9}}}};
}
/// A file of this header and `data_size` bytes of data, the header's length as claimed.
std::vector<std::byte> tensor_bytes(const std::string& header, std::size_t data_size, std::uint64_t claimed) {
    std::vector<std::byte> bytes(8 + header.size() + data_size);
    std::memcpy(bytes.data(), &claimed, 8);
    std::memcpy(bytes.data() + 8, header.data(), header.size());
    return bytes;
}
std::vector<std::byte> tensor_bytes(const std::string& header, std::size_t data_size) {
    return tensor_bytes(header, data_size, header.size());
}
Result<TensorFile> decoded_tensors(const std::vector<std::byte>& bytes) { return decode_safetensors(bytes, "'x'"); }
std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "F32") {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(safetensors, round_trip) {
    const TensorFile file = example_tensors();
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, encode_safetensors(file));
    ASSERT_OK_AND_ASSIGN(const TensorFile read, decoded_tensors(bytes));
    EXPECT_EQ(read.metadata, file.metadata);
    ASSERT_EQ(read.tensors.size(), file.tensors.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
        EXPECT_EQ(read.tensors[i].name, file.tensors[i].name);
        EXPECT_EQ(read.tensors[i].shape, file.tensors[i].shape);
        EXPECT_EQ(read.tensors[i].values, file.tensors[i].values);
    }
    EXPECT_EQ(find_tensor(read.tensors, "none"), nullptr);
}
// The bytes of the format's own description: what another writer makes must read, padding of the header included.
TEST(safetensors, reads_what_others_write) {
    std::vector<std::byte> bytes =
        tensor_bytes("{" + tensor("a", "[1]", "[4,8]") + "," + tensor("z", "[1,1]", "[0,4]") + "}   ", 8);
    const float values[] = {2.5F, -7.0F};
    std::memcpy(bytes.data() + bytes.size() - 8, values, 8);
    ASSERT_OK_AND_ASSIGN(const TensorFile read, decoded_tensors(bytes));
    EXPECT_TRUE(read.metadata.empty());
    EXPECT_EQ(find_tensor(read.tensors, "a")->values, std::vector{-7.0F});
    EXPECT_EQ(find_tensor(read.tensors, "z")->values, std::vector{2.5F});
}
// Bit patterns from IEEE 754's definition of binary16 and from bfloat16, the upper half of binary32.
TEST(safetensors, reads_half_precision_of_other_programs) {
    std::vector<std::byte> bytes =
        tensor_bytes("{" + tensor("bf", "[2]", "[0,4]", "BF16") + "," + tensor("half", "[7]", "[4,18]", "F16") + "," +
                         tensor("ids", "[1,2]", "[18,34]", "I64") + "}",
                     34);
    const std::uint16_t words[] = {0x3FC0, 0xC2F7, 0x3C00, 0xC100, 0x0001, 0x83FF, 0x7BFF, 0xFC00, 0x8000};
    std::memcpy(bytes.data() + bytes.size() - 34, words, sizeof(words));
    EXPECT_TRUE(expect_error(decoded_tensors(bytes), ErrorKind::BadInput, "F32, the only one"));
    ASSERT_OK_AND_ASSIGN(const TensorFile read, decode_foreign_safetensors(bytes, "'x'"));
    EXPECT_EQ(find_tensor(read.tensors, "bf")->values, (std::vector{1.5F, -123.5F}));
    EXPECT_EQ(find_tensor(read.tensors, "half")->values, (std::vector{1.0F, -2.5F, 0x1p-24F, -1023 * 0x1p-24F, 65504.0F,
                                                                      -std::numeric_limits<float>::infinity(), -0.0F}));
    EXPECT_TRUE(std::signbit(find_tensor(read.tensors, "half")->values.back()));
    const StoredTensor* const ids = find_tensor(read.tensors, "ids");
    EXPECT_EQ(ids->dtype, "I64");
    EXPECT_EQ(ids->shape, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_TRUE(ids->values.empty());
}
TEST(safetensors, refuses_foreign_tensors_that_do_not_fit) {
    EXPECT_TRUE(
        expect_error(decode_foreign_safetensors(tensor_bytes("{" + tensor("a", "[3]", "[0,4]", "F16") + "}", 4), "'x'"),
                     ErrorKind::BadInput, "Tensor 'a' of 'x' has the shape [3], but 4 bytes"));
    EXPECT_TRUE(
        expect_error(decode_foreign_safetensors(tensor_bytes("{" + tensor("a", "[1]", "[0,4]", "F33") + "}", 4), "'x'"),
                     ErrorKind::BadInput, "'F33', which is not known"));
}
TEST(safetensors, data_is_aligned) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, encode_safetensors(example_tensors()));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    EXPECT_EQ(length % 8, 0U);
    EXPECT_EQ(bytes.size(), 8 + length + 4 * 9);
}
TEST(safetensors, no_tensors) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, encode_safetensors({}));
    ASSERT_OK_AND_ASSIGN(const TensorFile read, decoded_tensors(bytes));
    EXPECT_TRUE(read.tensors.empty());
}
TEST(safetensors, encoder_refuses_what_it_could_not_read_back) {
    EXPECT_TRUE(expect_error(encode_safetensors({.metadata = {}, .tensors = {{"a", {1}, {1}}, {"a", {1}, {1}}}}),
                             ErrorKind::BadInput, "taken"));
    EXPECT_TRUE(expect_error(encode_safetensors({.metadata = {}, .tensors = {{"__metadata__", {1}, {1}}}}),
                             ErrorKind::BadInput, "taken"));
    EXPECT_TRUE(expect_error(encode_safetensors({.metadata = {}, .tensors = {{"a", {2}, {1}}}}), ErrorKind::BadInput,
                             "1 values"));
    EXPECT_TRUE(
        expect_error(encode_safetensors({.metadata = {{"k", std::string(kMaxSafetensorsHeader, 'x')}}, .tensors = {}}),
                     ErrorKind::BadInput, "header"));
}

struct BadFile {
    const char* name;
    std::vector<std::byte> bytes;
    const char* part;
};
std::vector<BadFile> bad_files() {
    const std::string one = "{" + tensor("a", "[1]", "[0,4]") + "}";
    return {
        {"empty", {}, "0 bytes"},
        {"seven bytes", std::vector<std::byte>(7), "7 bytes"},
        {"header of 2^63", tensor_bytes(one, 4, std::uint64_t{1} << 63U), "9223372036854775808"},
        {"header of 2^64 - 1", tensor_bytes(one, 4, ~std::uint64_t{0}), "18446744073709551615"},
        {"header one too long", tensor_bytes(one, 0, one.size() + 1), "truncated"},
        {"header above the limit", tensor_bytes(std::string(kMaxSafetensorsHeader + 1, ' '), 0), "at most"},
        {"no JSON", tensor_bytes("PK\x03\x04 and so on", 8), "not valid JSON"},
        {"not UTF-8", tensor_bytes("{\"\xff\":1}", 0), "not valid JSON"},
        {"no header at all", tensor_bytes("", 4), "not valid JSON"},
        {"an array", tensor_bytes("[]", 0), "not a JSON object"},
        {"cut JSON", tensor_bytes(one.substr(0, one.size() - 1), 4), "not valid JSON"},
        {"deep nesting", tensor_bytes(std::string(100000, '['), 0), "nests"},
        {"deep objects", tensor_bytes(R"({"a":{"b":{"c":{"d":{"e":{}}}}}})", 0), "nests"},
        {"twice the same name",
         tensor_bytes("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("a", "[1]", "[4,8]") + "}", 8), "'a' twice"},
        {"twice the same field",
         tensor_bytes(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "'dtype' twice"},
        {"metadata is a list", tensor_bytes(R"({"__metadata__":[]})", 0), "not an object"},
        {"metadata is a number", tensor_bytes(R"({"__metadata__":{"k":1}})", 0), "not a string"},
        {"tensor is a number", tensor_bytes(R"({"a":1})", 0), "object"},
        {"half precision", tensor_bytes("{" + tensor("a", "[2]", "[0,4]", "F16") + "}", 4), "F32"},
        {"no dtype", tensor_bytes(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), "F32"},
        {"no shape", tensor_bytes(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "shape"},
        {"negative extent", tensor_bytes("{" + tensor("a", "[-1]", "[0,4]") + "}", 4), "extent"},
        {"fractional extent", tensor_bytes("{" + tensor("a", "[1.0]", "[0,4]") + "}", 4), "extent"},
        {"extent above 64 bits", tensor_bytes("{" + tensor("a", "[99999999999999999999]", "[0,4]") + "}", 4), "extent"},
        {"product above 64 bits",
         tensor_bytes("{" + tensor("a", "[4294967296,4294967296,4294967296]", "[0,4]") + "}", 4), "4 bytes"},
        {"product that wraps to the size",
         tensor_bytes("{" + tensor("a", "[4611686018427387905,4]", "[0,16]") + "}", 16), "16 bytes"},
        {"nine extents", tensor_bytes("{" + tensor("a", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4), "at most 8"},
        {"nested extents", tensor_bytes("{" + tensor("a", "[[1]]", "[0,4]") + "}", 4), ""},
        {"one offset", tensor_bytes("{" + tensor("a", "[1]", "[4]") + "}", 4), "pair of data offsets"},
        {"text offsets", tensor_bytes("{" + tensor("a", "[1]", "\"0,4\"") + "}", 4), "pair of data offsets"},
        {"negative offset", tensor_bytes("{" + tensor("a", "[1]", "[-4,0]") + "}", 4), "pair of data offsets"},
        {"reversed offsets", tensor_bytes("{" + tensor("a", "[1]", "[4,0]") + "}", 4), "lies at bytes 4 to 0"},
        {"offset behind the end", tensor_bytes("{" + tensor("a", "[2]", "[0,8]") + "}", 4), "lies at bytes 0 to 8"},
        {"offset of 2^64 - 1",
         tensor_bytes("{" + tensor("a", "[1]", "[18446744073709551611,18446744073709551615]") + "}", 4), "lies at"},
        {"shape below the size", tensor_bytes("{" + tensor("a", "[1]", "[0,8]") + "}", 8), "8 bytes"},
        {"size no multiple of 4", tensor_bytes("{" + tensor("a", "[1]", "[0,5]") + "}", 5), "5 bytes"},
        {"overlap", tensor_bytes("{" + tensor("a", "[2]", "[0,8]") + "," + tensor("b", "[2]", "[4,12]") + "}", 12),
         "overlap"},
        {"same place", tensor_bytes("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[0,4]") + "}", 4),
         "overlap"},
        {"gap", tensor_bytes("{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]") + "}", 12), "gap"},
        {"gap at the start", tensor_bytes("{" + tensor("a", "[1]", "[4,8]") + "}", 8), "gap"},
        {"trailing bytes", tensor_bytes(one, 5), "1 bytes behind"},
    };
}
TEST(safetensors, bad_files_are_refused_with_the_reason) {
    for (const BadFile& bad : bad_files())
        EXPECT_TRUE(expect_error(decoded_tensors(bad.bytes), ErrorKind::BadInput, bad.part)) << bad.name;
}
TEST(safetensors, every_truncation_is_refused) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, encode_safetensors(example_tensors()));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_safetensors(std::span(bytes).first(size), "'x'")) << size;
    }
}

// What reads must be sound: every tensor fills its shape, and all of them together are the data.
void expect_sound(const TensorFile& file, std::size_t file_size) {
    std::size_t total = 0;
    for (const StoredTensor& tensor : file.tensors) {
        std::uint64_t product = 1;
        for (const std::uint64_t extent : tensor.shape) product *= extent;
        EXPECT_EQ(product, tensor.values.size());
        total += tensor.values.size();
    }
    EXPECT_LE(4 * total, file_size);
}
/// As another program writes it: the key of the checksum is one that nobody knows.
std::vector<std::byte> without_checksum(std::vector<std::byte> bytes) {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.find(kSealKey);
    EXPECT_NE(at, std::string::npos);
    bytes[at] = std::byte{'n'};
    return bytes;
}
TEST(safetensors, every_flipped_bit_is_refused) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> whole, encode_safetensors(example_tensors()));
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::vector<std::byte> bytes = whole;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        const Result<TensorFile> read = decoded_tensors(bytes);
        // Of the checksum's own key, so that there seems to be none: decode_state() refuses the file.
        if (read) {
            EXPECT_FALSE(read->has_checksum) << bit;
        }
    }
}
TEST(safetensors, mutated_files_with_a_checksum_are_refused) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> original, encode_safetensors(example_tensors()));
    ::yolk::testing::Mutator mutate(20250602);
    const int files = ::yolk::testing::mutation_count(20000);
    for (int i = 0; i < files; ++i) {
        const std::vector<std::byte> bytes = mutate(original);
        const Result<TensorFile> read = decoded_tensors(bytes);
        if (read && read->has_checksum) {
            EXPECT_EQ(bytes, original);
        }
    }
}
TEST(safetensors, mutated_files_are_read_soundly_or_refused) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> sealed, encode_safetensors(example_tensors()));
    const std::vector<std::byte> original = without_checksum(sealed);
    ::yolk::testing::Mutator mutate(20250601);
    const int files = ::yolk::testing::mutation_count(20000);
    int refused = 0;
    for (int i = 0; i < files; ++i) {
        const std::vector<std::byte> bytes = mutate(original);
        const Result<TensorFile> read = decoded_tensors(bytes);
        if (read) {
            expect_sound(*read, bytes.size());
        } else {
            EXPECT_EQ(read.error().kind, ErrorKind::BadInput);
            ++refused;
        }
    }
    EXPECT_GT(refused, files / 2);
    EXPECT_LT(refused, files);  // edits of the data alone still read
}

}  // namespace
}  // namespace yolk::train
