// SPDX-License-Identifier: Apache-2.0
// A tuning table that another process has locked: the wait is told, a request to end cuts it, and a limit ends it.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "table_folder.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/stop.hpp"

namespace yolk {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class table_lock : public TableFolder {
   protected:
    void SetUp() override {
        TableFolder::SetUp();
        clear_stop();
        EXPECT_OK(TuningFile::open(table()));
        ASSERT_EQ(sqlite3_open(table().c_str(), &holder_), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(holder_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    void TearDown() override {
        clear_stop();
        sqlite3_close(holder_);
        TableFolder::TearDown();
    }
    [[nodiscard]] Result<bool> put() {
        YOLK_TRY(const TuningFile file, TuningFile::open(table()));
        return file.put(some_choice(some_key(), 32, 1.0), std::nullopt);
    }
    sqlite3* holder_ = nullptr;
};

TEST_F(table_lock, is_told_and_waited_for) {
    ::testing::internal::CaptureStderr();
    std::thread lets_go([this] {
        // Once the waiter has said something; without a word it waits to its limit.
        std::error_code error;
        for (int look = 0; look < 6000 && std::filesystem::file_size("/proc/self/fd/2", error) == 0; ++look)
            std::this_thread::sleep_for(milliseconds(10));
        sqlite3_exec(holder_, "ROLLBACK", nullptr, nullptr, nullptr);
    });
    const Result<bool> written = put();
    const std::string log = ::testing::internal::GetCapturedStderr();
    lets_go.join();
    ASSERT_OK(written);
    EXPECT_TRUE(*written);
    EXPECT_THAT(log, HasSubstr("Waiting for the tuning table '" + table().string() +
                               "', which another process has locked, for 5 s; given up after 20 s."));
}

TEST_F(table_lock, is_not_waited_for_once_the_process_is_asked_to_end) {
    std::thread asks([] {
        std::this_thread::sleep_for(milliseconds(500));  // into the wait
        request_stop();
    });
    const auto begun = std::chrono::steady_clock::now();
    const Result<bool> written = put();
    const auto waited = std::chrono::steady_clock::now() - begun;
    asks.join();
    EXPECT_TRUE(testing::expect_error(written, ErrorKind::Io, "locked"));
    EXPECT_LT(waited, std::chrono::seconds(18)) << "half a second, on a busy machine; the limit is 20";
}

}  // namespace
}  // namespace yolk
