// SPDX-License-Identifier: Apache-2.0
// What lies where a tuning table is wanted: other programs' files, damaged tables, tables of an older Yolk.
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <iterator>

#include "table_folder.hpp"
#include "yolk/autotune/run_journal.hpp"
#include "yolk/autotune/surface.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/tuning_transfer.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class table_place : public TableFolder {
   protected:
    [[nodiscard]] std::string bytes() const {
        std::ifstream file(table(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void sql(const std::string& text) const {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(table().c_str(), &database), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(database);
        sqlite3_close(database);
    }
    /// Writes over the bytes from `at` on.
    void damage(std::uint64_t at, const std::string& with) const {
        std::fstream file(table(), std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(at));
        file << with;
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }
    /// Refused by name, and as it was.
    void expect_left_alone() const {
        const std::string before = bytes();
        const std::size_t files_before = files();
        const Result<TuningFile> made = TuningFile::open(table());
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().kind, ErrorKind::BadInput);
        EXPECT_THAT(made.error().message, HasSubstr(table().string()));
        EXPECT_THAT(made.error().message, HasSubstr("left as it is"));
        EXPECT_THAT(made.error().message, HasSubstr("YOLK_TABLE"));
        const auto read = TuningFile::open_existing(table());
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().kind, ErrorKind::BadInput);
        EXPECT_FALSE(check_tuning_table(table()));
        EXPECT_EQ(bytes(), before);
        EXPECT_EQ(files(), files_before);
    }
    /// A table of two choices, one of them pinned, and of samples that are times and one that is not.
    void make_table() const {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        ASSERT_OK(file.put(some_choice(some_key(), 32, 1.0), std::nullopt));
        TuningChoice pinned = some_choice(some_key(513), 16, 1.5);
        pinned.pinned = true;
        ASSERT_OK(file.put(pinned, std::nullopt));
        ASSERT_OK(file.add(some_key(), {.configuration = {{"rows_per_workgroup", 8}}, .milliseconds = 532.0}));
        ASSERT_OK(
            file.add(some_key(),
                     {.configuration = {{"rows_per_workgroup", 4}}, .milliseconds = kInvalidCost, .reason = "wrong"}));
    }
    void make_version_1() const {
        make_table();
        sql("ALTER TABLE choices DROP COLUMN reopened; PRAGMA user_version=1");
    }
};

TEST_F(table_place, with_another_programs_file_is_refused_and_left_as_it_is) {
    const std::vector<std::string> contents{
        "#!/bin/sh\necho hello\n", "x", std::string(5000, '\0'), "SQLite format 2" + std::string(200, 'x'),
        // The text of a table, as `.dump` of sqlite3 writes it.
        "CREATE TABLE keys(id);\nCREATE TABLE choices(key);\nCREATE TABLE samples(id);\nCREATE TABLE quarantine(key);"};
    for (const std::string& content : contents) {
        std::ofstream(table(), std::ios::binary | std::ios::trunc) << content;
        expect_left_alone();
    }
}

TEST_F(table_place, with_another_programs_database_is_left_as_it_is_even_damaged) {
    sql("CREATE TABLE songs(title TEXT); INSERT INTO songs VALUES('one')");
    expect_left_alone();
    damage(100, std::string(2000, '\xff'));  // the page that holds its schema
    expect_left_alone();
    damage(60, std::string(20, '\xff'));  // an application id and a schema format that nobody has
    expect_left_alone();
}

TEST_F(table_place, that_is_a_folder_or_a_device_is_refused) {
    std::filesystem::create_directory(table());
    const Result<TuningFile> folder = TuningFile::open(table());
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().kind, ErrorKind::BadInput);
    EXPECT_THAT(folder.error().message, HasSubstr("folder"));
    EXPECT_FALSE(check_tuning_table("/dev/null"));
    EXPECT_FALSE(check_tuning_table(table()));
}

TEST_F(table_place, that_is_free_or_an_empty_file_becomes_a_table) {
    ASSERT_OK(check_tuning_table(table()));
    EXPECT_FALSE(std::filesystem::exists(table()));
    std::ofstream(table()).flush();
    ASSERT_OK(check_tuning_table(table()));
    make_table();
    ASSERT_OK(check_tuning_table(table()));
    ASSERT_OK_AND_ASSIGN(const auto file, TuningFile::open_existing(table()));
    ASSERT_TRUE(file);
    ASSERT_OK_AND_ASSIGN(const auto choices, file->choices());
    EXPECT_THAT(choices, SizeIs(2));
}

TEST_F(table_place, with_a_damaged_table_of_ours_is_set_aside) {
    // By the application id, by the text of the tables where that is lost, and where only pages behind them are.
    const std::vector<std::function<void()>> damages{[this] { damage(100, std::string(3000, '\xff')); },
                                                     [this] {
                                                         damage(68, "\xff\xff\xff\xff");
                                                         damage(100, std::string(8, '\xff'));
                                                     },
                                                     [this] {
                                                         const auto size = std::filesystem::file_size(table());
                                                         std::filesystem::resize_file(table(), size / 2);
                                                     }};
    std::size_t set_aside = 0;
    for (const auto& damage_it : damages) {
        make_table();
        sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
        damage_it();
        ++set_aside;
        ASSERT_OK(TuningFile::open(table()));
        const auto name = table().string() + ".damaged-" + std::to_string(set_aside);
        EXPECT_TRUE(std::filesystem::exists(name)) << name;
        std::filesystem::remove(table());
    }
}

TEST_F(table_place, with_a_table_of_version_1_loses_times_and_reopens_choices) {
    make_version_1();
    ASSERT_OK_AND_ASSIGN(const auto file, TuningFile::open_existing(table()));
    ASSERT_TRUE(file);
    ASSERT_OK_AND_ASSIGN(const auto samples, file->samples(some_key()));
    ASSERT_THAT(samples, SizeIs(1));
    EXPECT_EQ(samples[0].reason, "wrong");
    ASSERT_OK_AND_ASSIGN(auto choices, file->choices());
    ASSERT_THAT(choices, SizeIs(2));
    EXPECT_TRUE(choices[0].reopened);
    EXPECT_FALSE(choices[1].reopened);
    EXPECT_TRUE(choices[1].pinned);
    // Plans take both; the tuner has one shape to do again, and begins with what it had.
    EXPECT_THAT(usable_choices(choices, {}, some_key().device).entries(), SizeIs(2));
    const KnownChoices open = known_choices(choices, some_key());
    EXPECT_FALSE(open.exact);
    ASSERT_FALSE(open.to_validate.empty());
    EXPECT_EQ(open.to_validate[0], some_choice(some_key(), 32, 1.0).configuration);
    EXPECT_TRUE(known_choices(choices, some_key(513)).exact);
    // What is measured now goes over it, though it is slower in units of the heuristic; and is final.
    ASSERT_OK_AND_ASSIGN(const bool written, file->put(some_choice(some_key(), 64, 1.9), std::nullopt));
    EXPECT_TRUE(written);
    ASSERT_OK_AND_ASSIGN(choices, file->choices());
    EXPECT_FALSE(choices[0].reopened);
    ASSERT_OK(file->add(some_key(), {.configuration = {{"rows_per_workgroup", 8}}, .milliseconds = 0.28}));
    ASSERT_OK_AND_ASSIGN(const TuningFile again, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto kept, again.samples(some_key()));
    EXPECT_THAT(kept, SizeIs(2));
}

TEST_F(table_place, with_a_table_of_version_2_loses_shapes_in_words_that_are_no_longer_read) {
    make_table();
    TuningKey old = some_key(1024);
    old.shape.variant = "f32, operation 2";
    TuningKey own = some_key();
    own.family = "kernel of a file";
    own.shape.variant = "f32, operation 2";
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        for (const TuningKey& key : {old, own}) ASSERT_OK(file.put(some_choice(key, 32, 1.0), std::nullopt));
        ASSERT_OK(file.add(old, {.configuration = {{"rows_per_workgroup", 8}}, .milliseconds = 1.0}));
        ASSERT_OK(file.quarantine({old, {{"rows_per_workgroup", 4}}, "wrong"}));
    }
    sql("PRAGMA user_version=2");
    ASSERT_OK_AND_ASSIGN(const auto file, TuningFile::open_existing(table()));
    ASSERT_TRUE(file);
    ASSERT_OK_AND_ASSIGN(const auto choices, file->choices());
    ASSERT_THAT(choices, SizeIs(3));
    for (const TuningChoice& choice : choices) EXPECT_NE(choice.key, old);
    EXPECT_FALSE(choices.back().reopened);
    ASSERT_OK_AND_ASSIGN(const auto kept, file->samples(some_key()));
    EXPECT_THAT(kept, SizeIs(2));
    ASSERT_OK_AND_ASSIGN(const auto samples, file->samples(old));
    EXPECT_THAT(samples, SizeIs(0));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file->quarantined());
    EXPECT_THAT(quarantined, SizeIs(0));
}

/// Gives up what root may do in spite of a file's permissions. Another user is not an answer: in a container that one
/// may not even reach the folder.
bool obeys_permissions() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    return ::syscall(SYS_capset, &header, none.data()) == 0;
}

/// Ends the child of fork() with what went wrong; 0: nothing.
int reads_without_times(const std::filesystem::path& path) {
    if (!obeys_permissions()) return 1;
    const auto file = TuningFile::open_existing(path);
    if (!file || !*file) return 2;
    const auto choices = (*file)->choices();
    if (!choices || choices->size() != 2 || !choices->front().reopened || choices->back().reopened) return 3;
    const auto samples = (*file)->samples(some_key());
    return samples && samples->size() == 1 ? 0 : 4;
}

TEST_F(table_place, with_a_table_of_version_1_that_may_only_be_read_gives_no_times) {
    make_version_1();
    sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
    const std::string before = bytes();
    using std::filesystem::perms;
    std::filesystem::permissions(table(), perms::owner_read | perms::group_read | perms::others_read);
    std::filesystem::permissions(folder_, perms::owner_read | perms::owner_exec | perms::group_read |
                                              perms::group_exec | perms::others_read | perms::others_exec);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(reads_without_times(table()));
    int status = 0;
    ::waitpid(child, &status, 0);
    std::filesystem::permissions(folder_, perms::owner_all);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
    EXPECT_EQ(bytes(), before);
}

TEST_F(table_place, exports_of_version_1_are_imported_as_reopened) {
    const std::vector<TuningChoice> choices{some_choice(some_key(), 32, 1.0)};
    std::string text = export_text(choices);
    ASSERT_OK_AND_ASSIGN(const Imported now, import_text(text, "now"));
    ASSERT_THAT(now.choices, SizeIs(1));
    EXPECT_FALSE(now.choices[0].reopened);
    text.replace(text.find("\"yolk_tuning\": 2"), 16, "\"yolk_tuning\": 1");
    ASSERT_OK_AND_ASSIGN(const Imported then, import_text(text, "then"));
    ASSERT_THAT(then.choices, SizeIs(1));
    EXPECT_TRUE(then.choices[0].reopened);
    // Which goes over nothing that was measured since.
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK(file.put(some_choice(some_key(), 8, 1.8), std::nullopt));
    ASSERT_OK_AND_ASSIGN(const bool taken, file.put(then.choices[0], std::nullopt));
    EXPECT_FALSE(taken);
}

// A folder beside the table may be somebody's own: what no journal is called, or does not hold, stays.
TEST_F(table_place, journals_are_told_from_other_files) {
    const std::filesystem::path running = journal_folder(table());
    std::filesystem::create_directories(running);
    const auto write = [&running](const char* name, const char* text) { std::ofstream(running / name) << text; };
    write("notes.txt", "{}");
    write("1-2", "a letter");
    write("1-3", "");
    write("1-4", "{\"device\":\"cut o");
    write("12", "{}");
    std::filesystem::create_directory(running / "1-5");
    EXPECT_THAT(RunJournal::take_abandoned(running), SizeIs(1));
    for (const char* kept : {"notes.txt", "1-2", "12", "1-5"}) EXPECT_TRUE(std::filesystem::exists(running / kept));
    for (const char* gone : {"1-3", "1-4"}) EXPECT_FALSE(std::filesystem::exists(running / gone));
}

}  // namespace
}  // namespace yolk::autotune
