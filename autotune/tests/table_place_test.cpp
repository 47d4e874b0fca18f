// SPDX-License-Identifier: Apache-2.0
// What lies where a tuning table is wanted: other programs' files, damaged tables, tables of another version.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "table_folder.hpp"
#include "yolk/internal/autotune/run_journal.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/reduce.hpp"

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
    [[nodiscard]] std::int64_t number(const char* text) const {
        sqlite3* database = nullptr;
        sqlite3_open(table().c_str(), &database);
        sqlite3_stmt* statement = nullptr;
        sqlite3_prepare_v2(database, text, -1, &statement, nullptr);
        const std::int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
        sqlite3_finalize(statement);
        sqlite3_close(database);
        return value;
    }
    /// Of the table's own family, a shape of 512 x 64.
    [[nodiscard]] static TuningSpace some_space() {
        return space_of(DeviceInfo{}, ReduceDesc{.operation = ReduceOperation::Max, .outer = 512, .columns = 64})
            .space();
    }
    /// Tables that were renamed, or begun in place of this one.
    [[nodiscard]] std::size_t files_beside() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            const std::string name = entry.path().filename().string();
            count += name != "tuning.sqlite" && name != "tuning.sqlite-wal" && name != "tuning.sqlite-shm" ? 1U : 0U;
        }
        return count;
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

TEST_F(table_place, with_a_table_of_another_version_is_refused_and_left_as_it_is) {
    make_table();
    for (const int version : {1, 2, 3, 5, 9}) {
        sql("PRAGMA user_version=" + std::to_string(version) +
            "; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
        expect_left_alone();
        EXPECT_THAT(TuningFile::open(table()).error().message,
                    HasSubstr("is a tuning table of version " + std::to_string(version) + ", and this Yolk reads"));
    }
    sql("PRAGMA user_version=4");
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    EXPECT_THAT(choices, SizeIs(2));
}

// Another Yolk has added columns and a table, and writes values that nobody has heard of.
TEST_F(table_place, with_what_another_yolk_has_added_is_shared_as_it_is) {
    make_table();
    sql("ALTER TABLE choices ADD COLUMN energy REAL; ALTER TABLE samples ADD COLUMN clock INTEGER NOT NULL DEFAULT 7;"
        "CREATE TABLE moods(mood TEXT); INSERT INTO moods VALUES('calm');"
        "INSERT INTO keys VALUES(77,'device','driver 1','reduce','newer','operation=max','[512,64]');"
        "INSERT INTO choices VALUES(77,'{\"tile\":{\"m\":8}}',1.0,2.0,3.0,0.1,9,0,1,5.5);"
        "INSERT INTO samples(key,configuration,milliseconds,reason,stage,written,clock) "
        "VALUES(77,'{\"tile\":{\"m\":8}}',1.0,'','search',1,9)");
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK(file.put(some_choice(some_key(), 16, 0.5), some_choice(some_key(), 32, 1.0).configuration));
    ASSERT_OK(file.add(some_key(), {.configuration = {{"rows_per_workgroup", 2}}, .milliseconds = 2.0}));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    EXPECT_THAT(choices, SizeIs(2));
    const TuningTable usable = usable_choices(choices, {}, some_key().device);
    EXPECT_THAT(usable.entries(), SizeIs(2));
    EXPECT_EQ(usable.entries()[0].configuration[1].second, 16U);
    // The other one's are all there, and it goes on.
    EXPECT_EQ(number("SELECT count(*) FROM choices WHERE key=77 AND energy=5.5"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM samples WHERE key=77 AND clock=9"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM moods"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM samples WHERE clock=7"), 3);
    EXPECT_EQ(files_beside(), 0U);
}

// A shape in words of an older Yolk is passed over and kept.
TEST_F(table_place, keeps_rows_in_other_words) {
    make_table();
    TuningKey old = some_key(1024);
    old.shape.variant = "f32, operation 2";
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK(file.put(some_choice(old, 32, 1.0), std::nullopt));
    ASSERT_OK(file.quarantine({old, {{"rows_per_workgroup", 4}}, "wrong"}));
    ASSERT_OK(file.put(some_choice(some_key(), 16, 0.5), some_choice(some_key(), 32, 1.0).configuration));
    EXPECT_EQ(number("SELECT count(*) FROM choices c JOIN keys k ON k.id=c.key WHERE k.variant='f32, operation 2'"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM quarantine"), 1);
    EXPECT_EQ(files_beside(), 0U);
}

// Knobs that only the host knows are in no hash: two Yolks may have the same modules and other knobs.
TEST_F(table_place, keeps_a_choice_for_each_of_two_yolks_with_other_knobs) {
    make_table();
    const TuningChoice mine = some_choice(some_key(), 32, 1.0);
    TuningChoice theirs = mine;
    theirs.configuration.emplace_back("batch", 4);
    theirs.milliseconds = 0.7;
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const bool added, file.put(theirs, std::nullopt));
    EXPECT_TRUE(added);
    theirs.milliseconds = 0.6;
    ASSERT_OK_AND_ASSIGN(const bool replaced, file.put(theirs, theirs.configuration));
    EXPECT_TRUE(replaced);
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    ASSERT_THAT(choices, SizeIs(3));
    const TuningSpace space = some_space();
    const KnownChoices known = known_choices(choices, some_key(), space);
    ASSERT_TRUE(known.exact);
    EXPECT_EQ(known.exact->configuration, mine.configuration);
    EXPECT_FALSE(known.outdated);
    std::vector<TuningKnob> knobs(space.knobs().begin(), space.knobs().end());
    knobs.push_back({.name = "batch", .values = {1, 4}});
    const TuningSpace other(space.family(), knobs, {}, space.shape());
    ASSERT_TRUE(known_choices(choices, some_key(), other).exact);
    EXPECT_EQ(known_choices(choices, some_key(), other).exact->milliseconds, 0.6);
    ASSERT_OK_AND_ASSIGN(const auto keys, file.keys());
    EXPECT_THAT(keys, SizeIs(2));
    // And a plan takes the one that it can.
    const auto answer = usable_choices(choices, {}, some_key().device).find(space);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->configuration, (Configuration{1, 32, 32, 0, 1}));
}

/// Ends the child of fork() with what went wrong; 0: nothing.
int says_that_it_may_not(const std::filesystem::path& path) {
    if (!obeys_permissions()) return 1;
    const Result<TuningFile> file = TuningFile::open(path);
    if (file) return 2;
    const std::string& message = file.error().message;
    return message.find("Permission denied") != std::string::npos && message.find("YOLK_TABLE") != std::string::npos
               ? 0
               : 3;
}

TEST_F(table_place, that_may_not_be_read_is_told_why) {
    make_table();
    std::filesystem::permissions(table(), std::filesystem::perms::none);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(says_that_it_may_not(table()));
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
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
