// SPDX-License-Identifier: Apache-2.0
// What holds for each kind of state file, through the kind's real writer and reader. A module lists its kinds in one
// file, which includes this one:
//
//     INSTANTIATE_TEST_SUITE_P(, saved_states, ::testing::ValuesIn(kinds()), kind_of_case);
//
// Files of before, by the writers of their time, are in tests/states/old, which YOLK_OLD_STATES names.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/seal.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::testing {

using Bytes = std::vector<std::byte>;

struct SavedState {
    const StateKind* kind = nullptr;
    std::function<Result<void>(const std::filesystem::path&)> write;  ///< of what the fixtures of the kind hold
    std::function<Result<void>(const std::filesystem::path&)> read;
};
inline void PrintTo(const SavedState& state, std::ostream* out) { *out << state.kind->title; }
inline std::string kind_of_case(const ::testing::TestParamInfo<SavedState>& info) {
    return std::string(info.param.kind->name);
}

class saved_states : public ::testing::TestWithParam<SavedState> {
   protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        ASSERT_OK(GetParam().write(path_));
        ASSERT_OK_AND_ASSIGN(whole_, read_file(path_, kind().limit_bytes));
        ASSERT_LT(whole_.size(), 4096U) << "each bit of it is flipped: keep it small";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] const StateKind& kind() const { return *GetParam().kind; }
    [[nodiscard]] Result<void> read(std::span<const std::byte> bytes) const {
        std::filesystem::remove(path_);  // truncating the old one would make the file system wait for its disk
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return GetParam().read(path_);
    }
    /// Refused in words that name the file.
    [[nodiscard]] bool is_refused(std::span<const std::byte> bytes) const {
        const Result<void> refused = read(bytes);
        return expect_error(refused, ErrorKind::BadInput, "state");
    }
    /// Where the data of the tensors begins.
    [[nodiscard]] std::size_t data_begin() const {
        std::uint64_t length = 0;
        std::memcpy(&length, whole_.data(), 8);
        return 8 + static_cast<std::size_t>(length);
    }
    /// What a byte of the file is.
    [[nodiscard]] std::string class_of(std::size_t at) const {
        if (at < 8) return "length";
        if (at >= data_begin()) return "data";
        const std::string_view text(reinterpret_cast<const char*>(whole_.data()), data_begin());
        const std::size_t seal = text.find(kSealKey) + kSealKey.size() + 3;
        if (at >= seal && at < seal + kNoSeal.size()) return "checksum";
        const auto byte = static_cast<unsigned char>(whole_[at]);
        if (std::isdigit(byte) != 0) return "digit";
        return std::isalpha(byte) != 0 ? "letter" : std::string(1, static_cast<char>(byte));
    }
    [[nodiscard]] std::string format(std::uint32_t version) const {
        return "yolk-" + std::string(kind().name) + "-" + std::to_string(version);
    }
    /// The file with one text of its header in the place of another of the same length, sealed again.
    [[nodiscard]] Bytes with(std::string_view old_text, std::string_view new_text) const {
        std::string text(reinterpret_cast<const char*>(whole_.data()), whole_.size());
        const std::size_t at = text.find(old_text);
        EXPECT_NE(at, std::string::npos) << old_text;
        EXPECT_EQ(old_text.size(), new_text.size());
        text.replace(at, old_text.size(), new_text);
        seal(std::as_writable_bytes(std::span(text)));
        const auto bytes = std::as_bytes(std::span(text));
        return {bytes.begin(), bytes.end()};
    }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-saved-" + std::to_string(::getpid()));
    const std::filesystem::path path_ = folder_ / "state";
    Bytes whole_{};
};

TEST_P(saved_states, round_trip) {
    EXPECT_OK(read(whole_));
    const auto name = name_of_state(whole_);
    ASSERT_TRUE(name);
    EXPECT_EQ(name->kind, kind().name);
    EXPECT_EQ(name->version, kind().version);
    ASSERT_OK(GetParam().write(path_));
    EXPECT_EQ(read_file(path_, kind().limit_bytes).value(), whole_) << "the same state has other bytes";
}
TEST_P(saved_states, every_flipped_bit_is_refused) {
    std::set<std::string> classes;
    for (std::size_t at = 0; at < whole_.size(); ++at) {
        classes.insert(class_of(at));
        for (int bit = 0; bit < 8; ++bit) {
            Bytes bytes = whole_;
            bytes[at] ^= std::byte{1} << bit;
            ASSERT_TRUE(is_refused(bytes)) << "bit " << bit << " of byte " << at << ", a " << class_of(at);
        }
    }
    for (const char* const needed : {"length", "checksum", "letter", "digit", "{", "}", "\"", ":", ",", "_"})
        EXPECT_TRUE(classes.contains(needed)) << "the file has no " << needed;
}
TEST_P(saved_states, every_cut_and_every_addition_is_refused) {
    for (std::size_t size = 0; size < whole_.size(); ++size)
        ASSERT_TRUE(is_refused(std::span(whole_).first(size))) << size;
    for (const std::size_t more : {1U, 4U, 8U, 4096U}) {
        for (const std::byte value : {std::byte{0}, std::byte{' '}, std::byte{0xFF}}) {
            Bytes bytes = whole_;
            bytes.resize(whole_.size() + more, value);
            EXPECT_TRUE(is_refused(bytes)) << more;
            bytes = whole_;  // spaces behind the header change nothing but its length
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(data_begin()), more, value);
            const std::uint64_t length = data_begin() - 8 + more;
            std::memcpy(bytes.data(), &length, 8);
            EXPECT_TRUE(is_refused(bytes)) << more;
        }
    }
    Bytes twice = whole_;
    twice.insert(twice.end(), whole_.begin(), whole_.end());
    EXPECT_TRUE(is_refused(twice));
}
TEST_P(saved_states, a_file_without_its_checksum_is_refused) {
    EXPECT_TRUE(expect_error(read(with(kSealKey, "nobody_knows_")), ErrorKind::BadInput, "no checksum"));
}
// Half of them are sealed again, so that what lies behind the checksum is reached.
TEST_P(saved_states, mutated_files_are_refused_in_words) {
    Mutator mutate(20261126);
    const int files = mutation_count(2000);
    int refused = 0;
    for (int i = 0; i < files; ++i) {
        Bytes bytes = mutate(whole_);
        if (i % 2 == 0) seal(std::span(bytes));
        const Result<void> got = read(bytes);
        if (got) {
            EXPECT_TRUE(i % 2 == 0 || bytes == whole_) << "damage that the checksum does not show";
            continue;
        }
        EXPECT_EQ(got.error().kind, ErrorKind::BadInput) << got.error().message;
        ++refused;
    }
    EXPECT_GT(refused, files / 2);
}
TEST_P(saved_states, other_kinds_are_called_by_their_names) {
    for (const StateKind* const other : state_kinds()) {
        if (other == &kind()) continue;
        ASSERT_OK_AND_ASSIGN(const Bytes bytes, encode_state(*other, {}));
        const Result<void> refused = read(bytes);
        for (const std::string_view part : {other->title, kind().title, kind().source})
            EXPECT_TRUE(expect_error(refused, ErrorKind::BadInput, part)) << other->name;
        EXPECT_TRUE(expect_error(refused, ErrorKind::BadInput, " of Yolk ")) << other->name;
    }
    const auto refused_text = [&](std::string_view text, std::string_view part) {
        EXPECT_TRUE(expect_error(read(std::as_bytes(std::span(text))), ErrorKind::BadInput, part)) << text;
        EXPECT_TRUE(expect_error(read(std::as_bytes(std::span(text))), ErrorKind::BadInput, kind().title)) << text;
    };
    refused_text("YOLKLOG\n\1\2\3\4", "the log of a run");
    refused_text("", "0 bytes");
    refused_text("{\n \"format\": \"gltf\"}", "safetensors");
    refused_text("{\n \"format\": \"yolk-", "safetensors");
    refused_text("{\n \"format\": \"yolk-song-3\"}", "another kind of file ('yolk-song-3')");
    ASSERT_OK_AND_ASSIGN(const Bytes foreign, encode_safetensors({.metadata = {{"format", "pt"}}, .tensors = {}}));
    EXPECT_TRUE(expect_error(read(foreign), ErrorKind::BadInput, "'pt'"));
    ASSERT_OK_AND_ASSIGN(const Bytes nameless, encode_safetensors({}));
    EXPECT_TRUE(expect_error(read(nameless), ErrorKind::BadInput, "does not say its format"));
}
TEST_P(saved_states, other_versions_are_refused_by_name) {
    const std::string now = format(kind().version);
    const auto version = [&](std::uint32_t other) { return read(with(now, format(other))); };
    EXPECT_TRUE(expect_error(version(kind().version + 1), ErrorKind::BadInput, "a later version"));
    EXPECT_TRUE(expect_error(version(kind().version + 1), ErrorKind::BadInput, format(kind().version + 1)));
    EXPECT_TRUE(expect_error(version(0), ErrorKind::BadInput, "an earlier version"));
    EXPECT_TRUE(expect_error(version(0), ErrorKind::BadInput, "this one reads '" + now + "'"));
    EXPECT_TRUE(
        expect_error(read(with(now, now.substr(0, now.size() - 1) + "x")), ErrorKind::BadInput, now.substr(0, 8)));
}
TEST_P(saved_states, files_of_before_are_read_or_refused_by_name) {
    int own = 0;
    for (const auto& entry : std::filesystem::directory_iterator(YOLK_OLD_STATES)) {
        const std::string name = entry.path().filename().string();
        ASSERT_OK_AND_ASSIGN(const Bytes bytes, read_file(entry.path(), 4096));
        const Result<void> got = read(bytes);
        const auto stated = name_of_state(bytes);
        ASSERT_TRUE(stated) << name;
        EXPECT_EQ(stated->kind + "-" + std::to_string(stated->version), name);
        if (stated->kind != kind().name) {
            EXPECT_TRUE(expect_error(got, ErrorKind::BadInput, kind().source)) << name;
            continue;
        }
        ++own;
        if (stated->version == kind().version || stated->version == kind().unsealed) {
            EXPECT_OK(got) << name;
        } else {
            EXPECT_TRUE(expect_error(got, ErrorKind::BadInput, "an earlier version")) << name;
            EXPECT_TRUE(expect_error(got, ErrorKind::BadInput, kind().anew)) << name;
        }
    }
    EXPECT_GT(own, 0) << "there is none in tests/states/old";
}
// To look each one up among all others would take hours.
TEST_P(saved_states, half_a_million_fields_are_read_at_once) {
    std::string header = "{\"__metadata__\":{\"format\":\"" + format(kind().version) + "\",\"" + std::string(kSealKey) +
                         "\":\"" + std::string(kNoSeal) + "\"";
    for (int i = 0; i < 500'000; ++i) header += ",\"" + std::to_string(i) + "\":\"\"";
    header += "}}";
    Bytes bytes(8 + header.size());
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    std::memcpy(bytes.data() + 8, header.data(), header.size());
    ASSERT_TRUE(seal(bytes));
    EXPECT_TRUE(expect_error(read(bytes), ErrorKind::BadInput, "is missing or not as it should be"));
}
TEST_P(saved_states, a_huge_file_is_refused_unread) {
    std::filesystem::resize_file(path_, std::uintmax_t{1} << 40U);  // sparse
    EXPECT_TRUE(expect_error(GetParam().read(path_), ErrorKind::BadInput, "at most"));
}

}  // namespace yolk::testing
