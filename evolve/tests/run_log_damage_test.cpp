// SPDX-License-Identifier: Apache-2.0
// Logs as kills, power failures, damage and ill will leave them.
#include <gtest/gtest.h>

#include <cstring>

#include "run_log_fixtures.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::size_t kRecordBytes = 64 + kLoggedWeights + 8;

class damaged_log : public InLogFolder {
   protected:
    void SetUp() override {
        InLogFolder::SetUp();
        ASSERT_OK(write_log(file(), 4));
        whole_ = bytes_of(file());
    }
    [[nodiscard]] Result<RunLogReader> read(std::span<const std::byte> bytes) const {
        write_bytes(file(), bytes);
        return RunLogReader::open(file());
    }
    std::vector<std::byte> whole_;
};

TEST_F(damaged_log, torn_at_every_byte_of_the_last_record_loses_that_generation_alone) {
    for (std::size_t torn = 0; torn < kRecordBytes; ++torn) {
        ASSERT_OK_AND_ASSIGN(const RunLogReader log,
                             read(std::span(whole_).first(whole_.size() - kRecordBytes + torn)));
        EXPECT_EQ(log.torn_bytes(), torn);
        expect_example(log, 3);
    }
}
TEST_F(damaged_log, an_unfinished_record_with_zeros_behind_it_is_a_torn_tail) {
    std::vector<std::byte> bytes(whole_.begin(), whole_.end() - 20);
    bytes.resize(bytes.size() + 20 + 3 * kRecordBytes);  // blocks that a power failure left unwritten
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, read(bytes));
    EXPECT_EQ(log.torn_bytes(), 4 * kRecordBytes);
    expect_example(log, 3);
    bytes.back() = std::byte{1};
    EXPECT_TRUE(expect_error(read(bytes), ErrorKind::BadInput, "damaged at generation 3"));
}
TEST_F(damaged_log, any_changed_byte_before_the_last_record_is_told) {
    const std::size_t records = whole_.size() - 4 * kRecordBytes;
    for (std::size_t at = 0; at < whole_.size() - kRecordBytes; ++at) {
        std::vector<std::byte> bytes = whole_;
        bytes[at] ^= std::byte{1};
        const Result<RunLogReader> log = read(bytes);
        const std::string part = at < 8    ? "is not the log of a run"
                                 : at < 12 ? "log version"
                                 : at < records
                                     ? ""  // the header's length, its text, its checksum
                                     : "damaged at generation " + std::to_string((at - records) / kRecordBytes);
        EXPECT_TRUE(expect_error(log, ErrorKind::BadInput, part)) << at;
    }
}
TEST_F(damaged_log, foreign_and_later_files_are_named) {
    EXPECT_TRUE(expect_error(read({}), ErrorKind::BadInput, "is not the log of a run"));
    EXPECT_TRUE(expect_error(read(std::vector<std::byte>(1000)), ErrorKind::BadInput, "is not the log of a run"));
    std::vector<std::byte> later = whole_;
    later[8] = std::byte{3};
    EXPECT_TRUE(
        expect_error(read(later), ErrorKind::BadInput, "log version 3; this version of Yolk reads versions 1 and 2"));
    EXPECT_TRUE(expect_error(read(std::span(whole_).first(30)), ErrorKind::BadInput, "cut off within its header"));
    EXPECT_TRUE(expect_error(RunLogReader::open(file("none")), ErrorKind::Io, "No such file"));
    EXPECT_TRUE(expect_error(RunLogReader::open(file().parent_path()), ErrorKind::BadInput, "is a folder"));
}
TEST_F(damaged_log, records_of_another_log_do_not_pass) {
    RunLogHeader header = example_header();
    header.settings[1].second = "0.3";  // as long
    RunLogWriter other = RunLogWriter::replace(file("other"), header);
    for (std::uint32_t g = 0; g < 4; ++g) ASSERT_OK(other.append(example_generation(g)));
    std::vector<std::byte> bytes = bytes_of(file("other"));
    ASSERT_EQ(bytes.size(), whole_.size());
    std::ranges::copy(std::span(whole_).last(2 * kRecordBytes), bytes.end() - 2 * kRecordBytes);
    EXPECT_TRUE(expect_error(read(bytes), ErrorKind::BadInput, "damaged at generation 2"));
}

std::vector<std::byte> log_bytes(const std::string& text, std::size_t records, std::uint32_t claimed) {
    std::vector<std::byte> bytes(16 + text.size() + 8);
    const std::uint32_t version = kRunLogVersion;
    std::memcpy(bytes.data(), "YOLKLOG\n", 8);
    std::memcpy(bytes.data() + 8, &version, 4);
    std::memcpy(bytes.data() + 12, &claimed, 4);
    std::memcpy(bytes.data() + 16, text.data(), text.size());
    const std::uint64_t hash = hash64(std::span(bytes).first(16 + text.size()));
    std::memcpy(bytes.data() + 16 + text.size(), &hash, 8);
    bytes.resize(bytes.size() + records);
    return bytes;
}
std::string text_of_counts(const std::string& weights, const std::string& first, const std::string& kind = "\"i8\"") {
    return R"({"weights":)" + kind + R"(,"weight_count":)" + weights + R"(,"element_count":7,"first_generation":)" +
           first + R"(,"first_digest":"0123456789abcdef0123456789abcdef","settings":{}})";
}
TEST_F(damaged_log, absurd_claims_cost_nothing) {
    const auto refused = [&](const std::string& text, const std::string& part) {
        EXPECT_TRUE(expect_error(read(log_bytes(text, 100, static_cast<std::uint32_t>(text.size()))),
                                 ErrorKind::BadInput, part));
    };
    EXPECT_TRUE(expect_error(read(log_bytes("{}", 0, 0xFFFFFFFFU)), ErrorKind::BadInput, "header of 4294967295"));
    EXPECT_TRUE(expect_error(read(log_bytes("{}", 0, 1U << 20U)), ErrorKind::BadInput, "cut off within its header"));
    refused(text_of_counts("18446744073709551615", "0"), "outside its limits");
    refused(text_of_counts("1048577", "0"), "outside its limits");
    refused(text_of_counts("0", "0"), "outside its limits");
    refused(text_of_counts("-1", "0"), "outside its limits");
    refused(text_of_counts("5", "4294967295"), "outside its limits");
    refused(text_of_counts("5", "0", "\"i4\""), "which weights");
    refused(text_of_counts("5", "0", "[1]"), "which weights");
    refused("[1]", "not a JSON object");
    refused(std::string(500000, '['), "nests arrays and objects more than 64 deep");
    refused(R"({"settings":1})", "is missing");
    const std::string largest = text_of_counts("1048576", "4294967294", "\"f32\"");
    ASSERT_OK_AND_ASSIGN(const RunLogReader log,
                         read(log_bytes(largest, 100, static_cast<std::uint32_t>(largest.size()))));
    EXPECT_EQ(log.torn_bytes(), 100U);
    EXPECT_EQ(log.generations(), 4294967294U);
}
TEST_F(damaged_log, mutated_files_are_read_soundly_or_refused) {
    ::yolk::testing::Mutator mutate(20261124);
    const int files = ::yolk::testing::mutation_count(300);
    int refused = 0, shorter = 0;
    for (int i = 0; i < files; ++i) {
        const Result<RunLogReader> log = read(mutate(whole_));
        if (!log) {
            EXPECT_EQ(log.error().kind, ErrorKind::BadInput);
            ++refused;
            continue;
        }
        EXPECT_LE(log->generations(), 4U);
        shorter += log->generations() < 4 ? 1 : 0;
        EXPECT_EQ(log->header(), example_header());
        expect_example(*log, log->generations());
    }
    EXPECT_GT(refused, files / 2);
    EXPECT_GT(shorter, 0);  // an edit of the last record tears it
}

}  // namespace
}  // namespace yolk::evolve
