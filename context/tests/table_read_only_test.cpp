// SPDX-License-Identifier: Apache-2.0
// Tables that may be read and not written.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "table_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using table_read_only = TableFolder;

/// Ends the child of fork() with what went wrong; 0: nothing. Neither file beside the table is there, as after the last
/// program that wrote it has ended.
int reads_choices(const std::filesystem::path& path) {
    if (!obeys_permissions()) return 1;
    const auto file = TuningFile::open_existing(path);
    if (!file || !*file) return 2;
    const auto choices = (*file)->choices();
    if (!choices || choices->size() != 1 || choices->front().milliseconds != 1.5) return 3;
    const Result<bool> written = (*file)->put(some_choice(some_key(), 64, 1.0), std::nullopt);
    if (written || written.error().message.find(path.string()) == std::string::npos) return 4;
    const Result<TuningFile> for_writing = TuningFile::open(path);
    if (for_writing || for_writing.error().message.find(path.string()) == std::string::npos) return 5;
    if (for_writing.error().message.find("name another place in $YOLK_TABLE") == std::string::npos) return 6;
    return 0;
}

TEST_F(table_read_only, a_table_in_a_folder_that_may_only_be_read_is_read) {
    using std::filesystem::perms;
    const perms read = perms::owner_read | perms::group_read | perms::others_read;
    const perms enter = perms::owner_exec | perms::group_exec | perms::others_exec;
    const std::filesystem::path odd = folder_ / "50% of #1?" / "a table";
    for (const bool file_too : {false, true}) {
        std::filesystem::create_directories(odd.parent_path());
        {
            ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(odd));
            ASSERT_OK(file.put(some_choice(some_key(), 32, 1.5), std::nullopt));
        }
        ASSERT_FALSE(std::filesystem::exists(odd.string() + "-wal"));
        if (file_too) std::filesystem::permissions(odd, read);
        std::filesystem::permissions(odd.parent_path(), read | enter);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(reads_choices(odd));
        int status = 0;
        ::waitpid(child, &status, 0);
        std::filesystem::permissions(odd.parent_path(), perms::owner_all);
        EXPECT_EQ(status, 0) << WEXITSTATUS(status);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(odd.parent_path()), {}), 1);
        std::filesystem::remove_all(odd.parent_path());
    }
}

}  // namespace
}  // namespace yolk
