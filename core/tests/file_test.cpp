// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/kept_file.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/core/writer_lock.hpp"

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
TEST_F(file, kept_to_save_time_is_replaced_or_left_alone) {
    const auto write = [](const std::filesystem::path& path, std::string_view content) {
        return replace_file(path, std::as_bytes(std::span(content)));
    };
    ASSERT_TRUE(write(folder_ / "a", "old"));
    ASSERT_TRUE(write(folder_ / "a", "newer"));
    EXPECT_EQ(text(folder_ / "a"), "newer");
    EXPECT_EQ(write(folder_ / "no" / "a", "x").error().native, ENOENT);
    std::filesystem::create_directories(folder_ / "b" / "c");
    EXPECT_FALSE(write(folder_ / "b", "x"));
    EXPECT_EQ(entries(), 2U);  // no temporary left behind
}

TEST_F(file, empty_file) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", ""));
    EXPECT_EQ(text(folder_ / "a"), "");
}
// Refused before anything is written: the folder stays, and no temporary file is left.
TEST_F(file, folder_in_the_way_is_not_replaced) {
    std::filesystem::create_directory(folder_ / "a");
    const auto written = write_file_atomically(folder_ / "a", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::BadInput);
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

// Opening a named pipe blocks until somebody writes to it, and a rename over a device replaces it.
TEST_F(file, what_is_no_regular_file_is_neither_read_nor_replaced) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string socket_path = folder_ / "socket";
    ASSERT_LT(socket_path.size(), sizeof(address.sun_path));
    socket_path.copy(address.sun_path, socket_path.size());
    ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    std::filesystem::create_symlink("/dev/null", folder_ / "link");
    const std::pair<const char*, const char*> all[] = {
        {"pipe", "is a named pipe"}, {"socket", "is a socket"}, {"link", "is a device"}};
    for (const auto& [name, kind] : all) {
        const auto read = read_file(folder_ / name, 10);
        ASSERT_FALSE(read) << name;
        EXPECT_EQ(read.error().kind, ErrorKind::BadInput);
        EXPECT_NE(read.error().message.find(kind), std::string::npos) << read.error().message;
        const auto written = write_file_atomically(folder_ / name, "x");
        ASSERT_FALSE(written) << name;
        EXPECT_NE(written.error().message.find(kind), std::string::npos) << written.error().message;
        EXPECT_FALSE(check_regular_file(folder_ / name));
    }
    EXPECT_TRUE(check_regular_file(folder_ / "missing"));
    EXPECT_EQ(entries(), 3U);
    ::close(listener);
}
// As a kill between creating and renaming leaves it. One that is locked belongs to a writer that lives.
TEST_F(file, abandoned_parts_are_removed_and_those_of_the_living_stay) {
    // A process looks once for each path: a folder that no other test writes to.
    const std::filesystem::path folder = folder_ / "abandoned";
    std::filesystem::create_directory(folder);
    for (const char* name : {"a.123.part", "a.123-4.part", "b.123-4.part", "a.x.part", "a.part", "a.12-.part2"})
        std::ofstream(folder / name) << "torn";
    std::ofstream(folder / "a.99-1.part") << "written just now";
    std::filesystem::create_symlink(folder / "b.123-4.part", folder / "a.5.part");
    const int alive = ::open((folder / "a.99-1.part").c_str(), O_RDONLY);
    ASSERT_EQ(::flock(alive, LOCK_EX), 0);
    ASSERT_TRUE(write_file_atomically(folder / "a", "new"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.123.part"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.123-4.part"));
    for (const char* name : {"b.123-4.part", "a.x.part", "a.part", "a.12-.part2", "a.99-1.part", "a.5.part"})
        EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    ::close(alive);
    remove_abandoned_parts(folder / "a");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.99-1.part"));
}
TEST_F(file, many_threads_write_one_file_whole) {
    const std::string texts[] = {std::string(5000, 'a'), std::string(5000, 'b'), std::string(5000, 'c')};
    std::vector<std::thread> threads;
    for (const std::string& mine : texts) {
        threads.emplace_back([this, &mine] {
            for (int i = 0; i < 20; ++i) EXPECT_TRUE(write_file_atomically(folder_ / "a", mine));
        });
    }
    for (std::thread& thread : threads) thread.join();
    const auto bytes = read_file(folder_ / "a", 10000);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(std::string(5000, static_cast<char>(bytes->front())),
              std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    EXPECT_EQ(entries(), 1U);
}
TEST_F(file, folders_are_made_and_what_is_in_the_way_is_told) {
    ASSERT_TRUE(create_folders(folder_ / "x" / "y" / ""));
    EXPECT_TRUE(std::filesystem::is_directory(folder_ / "x" / "y"));
    ASSERT_TRUE(create_folders(folder_ / "x" / "y"));
    std::ofstream(folder_ / "x" / "f") << "mine";
    EXPECT_EQ(create_folders(folder_ / "x" / "f").error().native, ENOTDIR);
    EXPECT_EQ(create_folders(folder_ / "x" / "f" / "g").error().native, ENOTDIR);
}

TEST_F(file, names_beside_the_longest_are_as_long_as_names_may_be) {
    EXPECT_EQ(path_beside("a/b", ".lock"), std::filesystem::path("a/b.lock"));
    const std::string longest(255, 'n'), other = std::string(254, 'n') + "o";
    for (const std::string& name : {longest, other, longest.substr(5)}) {
        const auto path = folder_ / name;
        ASSERT_TRUE(write_file_atomically(path, "old"));
        ASSERT_TRUE(write_file_atomically(path, "new"));
        EXPECT_EQ(text(path), "new");
        ASSERT_TRUE(WriterLock::acquire_for_file(path));
        EXPECT_LE(path_beside(path, ".checkpoint").filename().native().size(), 255U);
    }
    EXPECT_NE(path_beside(folder_ / longest, ".lock"), path_beside(folder_ / other, ".lock"));
    EXPECT_EQ(entries(), 3U);
    EXPECT_EQ(write_file_atomically(folder_ / (longest + "n"), "x").error().native, ENAMETOOLONG);
}
TEST_F(file, parts_of_the_longest_names_are_removed_too) {
    const auto path = folder_ / std::string(255, 'm');
    std::string part = path_beside(path, std::string(32, '-')).string();
    part.replace(part.size() - 32, 32, ".123-4.part");
    std::ofstream(part) << "torn";
    ASSERT_TRUE(std::filesystem::exists(part));
    ASSERT_TRUE(write_file_atomically(path, "new"));
    EXPECT_EQ(entries(), 1U);
}
TEST_F(file, system_files_are_read_whole_though_they_have_no_size) {
    const auto status = read_text("/proc/self/status", 1U << 20U);
    ASSERT_TRUE(status);
    EXPECT_NE(status->find("Name:"), std::string::npos);
    EXPECT_EQ(read_text("/proc/self/status", 5)->size(), 5U);
    EXPECT_EQ(*read_beginning("/proc/self/status", 5), "Name:");
}
TEST_F(file, ends_of_a_file_are_read_alone) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", "0123456789"));
    EXPECT_EQ(*read_beginning(folder_ / "a", 3), "012");
    EXPECT_EQ(*read_end(folder_ / "a", 3), "789");
    EXPECT_EQ(*read_end(folder_ / "a", 30), "0123456789");
    EXPECT_EQ(*read_beginning(folder_ / "a", 30), "0123456789");
    EXPECT_EQ(read_end(folder_, 3).error().kind, ErrorKind::BadInput);
    EXPECT_EQ(read_end(folder_ / "no", 3).error().native, ENOENT);
}
// C's functions would take the name up to the zero byte, and read or write another file.
TEST_F(file, name_with_a_zero_byte_is_refused) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", "mine"));
    const auto path = folder_ / std::string("a\0b", 3);
    EXPECT_EQ(read_file(path, 10).error().kind, ErrorKind::BadInput);
    EXPECT_EQ(write_file_atomically(path, "x").error().kind, ErrorKind::BadInput);
    EXPECT_EQ(text(folder_ / "a"), "mine");
}
TEST_F(file, names_in_errors_are_one_line) {
    const auto read = read_file(folder_ / "no\nyolk: error: \x1b[31m", 10);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("no\\nyolk: error: \\x1b[31m'"), std::string::npos) << read.error().message;
}
TEST_F(file, is_told_from_one_that_took_its_place) {
    ASSERT_TRUE(write_file_atomically(folder_ / "a", "1"));
    const auto opened = open_regular_file(folder_ / "a", O_RDONLY);
    ASSERT_TRUE(opened);
    EXPECT_TRUE(is_still_at(*opened, folder_ / "a"));
    ASSERT_TRUE(write_file_atomically(folder_ / "a", "2"));
    EXPECT_FALSE(is_still_at(*opened, folder_ / "a"));
    EXPECT_FALSE(is_still_at(*opened, folder_ / "no"));
}

class line_log : public file {};

TEST_F(line_log, empties_the_file_and_keeps_others_out) {
    std::ofstream(folder_ / "log") << "older and longer than what follows";
    {
        auto log = LineLog::create(folder_ / "log");
        ASSERT_TRUE(log);
        ASSERT_TRUE(log->append("one"));
        EXPECT_TRUE(is_being_written(folder_ / "log"));
        const auto second = LineLog::create(folder_ / "log");
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().native, EBUSY);
        ASSERT_TRUE(log->append("two"));
    }
    EXPECT_EQ(text(folder_ / "log"), "one\ntwo\n");
    EXPECT_FALSE(is_being_written(folder_ / "log"));
    EXPECT_TRUE(LineLog::create(folder_ / "log"));
}
TEST_F(line_log, pipe_without_a_reader_is_an_error_and_one_with_a_reader_is_written) {
    const auto pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(LineLog::create(pipe).error().native, ENXIO);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    auto log = LineLog::create(pipe);
    ASSERT_TRUE(log);
    ASSERT_TRUE(log->append("one"));
    char got[8]{};
    EXPECT_EQ(::read(reader, got, sizeof(got)), 4);
    ::close(reader);
    EXPECT_EQ(LineLog::create(folder_).error().native, EISDIR);
    EXPECT_EQ(LineLog::create("/dev/full")->append("x").error().native, ENOSPC);
}

class writer_lock : public file {};

TEST_F(writer_lock, second_writer_is_refused_until_the_first_has_ended) {
    const auto path = folder_ / "lock";
    {
        auto first = WriterLock::acquire(path, "The folder 'out'");
        ASSERT_TRUE(first);
        EXPECT_TRUE(is_being_written(path));
        const auto second = WriterLock::acquire(path, "The folder 'out'");
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().native, EBUSY);
        EXPECT_EQ(second.error().message.rfind(
                      "The folder 'out' is being written by process " + std::to_string(::getpid()), 0),
                  0U)
            << second.error().message;
    }
    EXPECT_EQ(entries(), 0U);
    EXPECT_FALSE(is_being_written(path)) << "a file that a killed process left";
    EXPECT_FALSE(is_being_written(folder_));
    EXPECT_TRUE(WriterLock::acquire(path, "it"));
}
TEST_F(writer_lock, file_of_a_killed_process_is_taken_over) {
    std::ofstream(folder_ / "a.lock") << "123456789\n";
    {
        auto lock = WriterLock::acquire_for_file(folder_ / "a");
        ASSERT_TRUE(lock);
        EXPECT_EQ(text(folder_ / "a.lock"), std::to_string(::getpid()) + "\n");
    }
    EXPECT_EQ(entries(), 0U);
}
TEST_F(writer_lock, knows_whether_it_is_in_place) {
    EXPECT_TRUE(WriterLock().is_in_place());
    {
        const auto lock = WriterLock::acquire(folder_ / "lock", "it");
        ASSERT_TRUE(lock);
        EXPECT_TRUE(lock->is_in_place());
        std::filesystem::remove(folder_ / "lock");
        EXPECT_FALSE(lock->is_in_place());
        std::ofstream(folder_ / "lock") << "another's";
        EXPECT_FALSE(lock->is_in_place());
    }
    EXPECT_EQ(entries(), 1U) << "what took its place is not ours to remove";
}
TEST_F(writer_lock, devices_have_none_and_a_missing_folder_is_an_error) {
    EXPECT_TRUE(WriterLock::acquire_for_file("/dev/null"));
    EXPECT_FALSE(std::filesystem::exists("/dev/null.lock"));
    EXPECT_EQ(WriterLock::acquire_for_file(folder_ / "no" / "a").error().native, ENOENT);
}
TEST_F(writer_lock, threads_that_come_and_go_never_hold_it_together) {
    std::atomic<int> holders{0}, held{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                const auto lock = WriterLock::acquire(folder_ / "lock", "it");
                if (!lock) continue;
                EXPECT_EQ(++holders, 1);
                ++held;
                --holders;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(held, 1);
    EXPECT_EQ(entries(), 0U);
}

}  // namespace
}  // namespace yolk
