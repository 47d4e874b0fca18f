// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace yolk {
namespace {

class file : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-file-test-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string text(const std::filesystem::path& path) const {
        const auto bytes = read_file(path, 1024);
        return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : bytes.error().message;
    }
    [[nodiscard]] std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
    std::filesystem::path folder_;
};

TEST_F(file, round_trip_and_replace) {
    const auto path = folder_ / "a";
    ASSERT_TRUE(write_file_atomically(path, "old"));
    ASSERT_TRUE(write_file_atomically(path, "newer"));
    EXPECT_EQ(text(path), "newer");
    EXPECT_EQ(entries(), 1U);  // no temporary left behind
}
TEST_F(file, empty_file) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", ""));
    EXPECT_EQ(text(folder_ / "a"), "");
}
// The target is a folder, so the rename fails after the temporary file was written: it must be gone, the folder
// untouched.
TEST_F(file, failed_replace_leaves_nothing_behind) {
    std::filesystem::create_directory(folder_ / "a");
    const auto written = write_file_atomically(folder_ / "a", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::Io);
    EXPECT_TRUE(std::filesystem::is_directory(folder_ / "a"));
    EXPECT_EQ(entries(), 1U);
}
TEST_F(file, missing_folder_is_an_error_with_errno) {
    const auto written = write_file_atomically(folder_ / "no" / "a", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().native, ENOENT);
}
TEST_F(file, larger_than_the_limit_is_refused) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", std::string(2000, 'x')));
    EXPECT_EQ(read_file(folder_ / "a", 1999).error().kind, ErrorKind::BadInput);
    EXPECT_TRUE(read_file(folder_ / "a", 2000));
}
TEST_F(file, folder_is_refused) { EXPECT_EQ(read_file(folder_, 10).error().kind, ErrorKind::BadInput); }

}  // namespace
}  // namespace yolk
