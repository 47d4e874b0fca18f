// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/tuning_file.hpp"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>

#include "table_folder.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/log.hpp"
#include "yolk/reduce.hpp"

namespace yolk {
namespace {

using ::testing::SizeIs;

using tuning_file = TableFolder;

/// The folder's files that were set aside, by the word in their names.
std::size_t files_with(const std::filesystem::path& folder, const std::string& word) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        count += name.find(word) != std::string::npos && name.find("-wal") == std::string::npos &&
                 name.find("-shm") == std::string::npos;
    }
    return count;
}

void run_sql(const std::filesystem::path& path, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
}

int setting(const char* name, int unset) {
    const char* const text = std::getenv(name);
    return text == nullptr ? unset : std::atoi(text);
}

TEST_F(tuning_file, keeps_choices_samples_and_quarantine) {
    const TuningKey key = some_key();
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        ASSERT_OK_AND_ASSIGN(const bool written, file.put(some_choice(key, 32, 1.0), std::nullopt));
        EXPECT_TRUE(written);
        ASSERT_OK(file.add(key, {.configuration = {{"rows_per_workgroup", 8}}, .milliseconds = 1.5}));
        ASSERT_OK(file.add(key, {.configuration = {{"rows_per_workgroup", 4}},
                                 .milliseconds = std::numeric_limits<double>::infinity(),
                                 .reason = "wrong",
                                 .stage = SampleStage::Final}));
        ASSERT_OK(file.quarantine({key, {{"rows_per_workgroup", 4}}, "wrong"}));
    }
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    ASSERT_THAT(choices, SizeIs(1));
    EXPECT_EQ(choices[0].key, key);
    EXPECT_EQ(choices[0].configuration, some_choice(key, 32, 1.0).configuration);
    EXPECT_EQ(choices[0].evaluations, 7U);
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key));
    ASSERT_THAT(samples, SizeIs(2));
    EXPECT_EQ(samples[0].milliseconds, 1.5);
    EXPECT_EQ(samples[1].milliseconds, std::numeric_limits<double>::infinity());
    EXPECT_EQ(samples[1].reason, "wrong");
    EXPECT_EQ(samples[1].stage, SampleStage::Final);
    ASSERT_OK_AND_ASSIGN(const auto others, file.samples(some_key(513)));
    EXPECT_THAT(others, SizeIs(0));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    ASSERT_THAT(quarantined, SizeIs(1));
    EXPECT_EQ(quarantined[0].reason, "wrong");
    ASSERT_OK_AND_ASSIGN(const std::size_t forgotten, file.forget("reduce", "512"));
    EXPECT_EQ(forgotten, 1U);
    ASSERT_OK_AND_ASSIGN(const auto none, file.choices());
    EXPECT_THAT(none, SizeIs(0));
}

TEST_F(tuning_file, a_choice_goes_over_what_it_was_measured_against_only) {
    const TuningKey key = some_key();
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    const TuningChoice first = some_choice(key, 32, 1.0);
    ASSERT_OK_AND_ASSIGN(const bool a, file.put(first, std::nullopt));
    EXPECT_TRUE(a);
    // Measured against `first`: replaces it, whatever the two runs' clocks said.
    ASSERT_OK_AND_ASSIGN(const bool b, file.put(some_choice(key, 16, 1.1), first.configuration));
    EXPECT_TRUE(b);
    // Measured against nothing, while another process wrote: the better one stays.
    ASSERT_OK_AND_ASSIGN(const bool c, file.put(some_choice(key, 8, 1.2), std::nullopt));
    EXPECT_FALSE(c);
    ASSERT_OK_AND_ASSIGN(const bool d, file.put(some_choice(key, 8, 0.9), std::nullopt));
    EXPECT_TRUE(d);
    TuningChoice pinned = some_choice(key, 4, 5.0);
    pinned.pinned = true;
    ASSERT_OK_AND_ASSIGN(const bool e, file.put(pinned, std::nullopt));
    EXPECT_TRUE(e);
    ASSERT_OK_AND_ASSIGN(const bool f, file.put(some_choice(key, 2, 0.1), pinned.configuration));
    EXPECT_FALSE(f);
}

TEST_F(tuning_file, that_is_cut_off_is_set_aside) {
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        for (std::uint64_t i = 0; i < 200; ++i)
            ASSERT_OK(file.add(some_key(i), {.configuration = {{"tile", 8}}, .milliseconds = 1.0}));
    }
    run_sql(table(), "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
    std::filesystem::resize_file(table(), std::filesystem::file_size(table()) / 2);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    EXPECT_EQ(files_with(folder_, ".damaged-"), 1U);
}

TEST_F(tuning_file, that_is_missing_is_not_made_by_reading) {
    ASSERT_OK_AND_ASSIGN(const auto missing, TuningFile::open_existing(folder_ / "missing"));
    EXPECT_FALSE(missing);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "missing"));
}

TEST_F(tuning_file, rows_that_are_no_choices_are_misses) {
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        for (std::uint64_t i = 0; i < 6; ++i) {
            ASSERT_OK_AND_ASSIGN(const bool written, file.put(some_choice(some_key(i), 32, 1.0), std::nullopt));
            EXPECT_TRUE(written);
        }
    }
    run_sql(table(),
            "UPDATE choices SET configuration='{\"tile\": [8]}' WHERE key=1;"
            "UPDATE choices SET configuration='[8' WHERE key=2;"
            "UPDATE choices SET milliseconds='fast' WHERE key=3;"
            "UPDATE keys SET extents='[1.5]' WHERE id=4;"
            "UPDATE keys SET extents=x'00ff' WHERE id=5");
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    EXPECT_THAT(choices, SizeIs(1));
}

// Any bytes at all in place of the file's: a table is opened, perhaps a new one, and what it gives parses.
// $YOLK_TEST_MUTATIONS damages so many.
TEST_F(tuning_file, mutated_bytes_never_stop_a_run) {
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        for (std::uint64_t i = 0; i < 4; ++i) {
            ASSERT_OK_AND_ASSIGN(const bool written, file.put(some_choice(some_key(i), 32, 1.0), std::nullopt));
            EXPECT_TRUE(written);
        }
    }
    run_sql(table(), "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
    std::ifstream whole(table(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
    set_log_level(LogLevel::Off);
    std::mt19937 random(1);
    for (int round = 0; round < setting("YOLK_TEST_MUTATIONS", 60); ++round) {
        std::string damaged = bytes;
        for (std::uint32_t i = 1 + random() % 8; i > 0; --i) {
            const std::size_t at = random() % 3 == 0 ? random() % 200 : random() % damaged.size();
            damaged[at] = static_cast<char>(random());
        }
        if (random() % 8 == 0) damaged.resize(random() % damaged.size());
        const std::filesystem::path path = folder_ / "mutated";
        std::filesystem::remove(path);
        std::filesystem::remove(folder_ / "mutated-wal");
        std::filesystem::remove(folder_ / "mutated-shm");
        std::ofstream(path, std::ios::binary) << damaged;
        Result<std::optional<TuningFile>> read = TuningFile::open_existing(path);
        if (read && *read) {
            static_cast<void>((*read)->choices());
            static_cast<void>((*read)->quarantined());
        }
        read = Result<std::optional<TuningFile>>(std::optional<TuningFile>());
        const Result<TuningFile> file = TuningFile::open(path);
        if (!file) {
            EXPECT_EQ(file.error().kind, ErrorKind::BadInput) << file.error().message;  // it became another program's
            continue;
        }
        static_cast<void>(file->choices());
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            if (entry.path().filename().string().find("mutated.") == 0) std::filesystem::remove(entry.path());
        }
    }
    set_log_level(LogLevel::Info);
}

/// Text that a row might hold after anything: most often what belongs there.
std::string fuzzed(std::mt19937& random, std::vector<std::string> good) {
    static const std::vector<std::string> kBad{"",
                                               "{}",
                                               "[]",
                                               "null",
                                               "{\"tile\":",
                                               "[512,64",
                                               "[-1,64]",
                                               "{\"rows_per_workgroup\":1e99}",
                                               "[18446744073709551615,64]",
                                               "{\"rows_per_workgroup\":3,\"row_per_invocation\":1}",
                                               "{\"row_per_invocation\":0,\"rows_per_workgroup\":256}",
                                               "\xff\xfe"};
    return random() % 4 == 0 ? kBad[random() % kBad.size()] : good[random() % good.size()];
}

// Keys and entries of any content: what a plan is given is legal in its space. $YOLK_TEST_MUTATIONS rows.
TEST_F(tuning_file, fuzzed_rows_never_give_an_illegal_configuration) {
    ASSERT_OK(TuningFile::open(table()));
    std::mt19937 random(1);
    const std::string hash = kernel_hash("reduce");
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(table().c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, "BEGIN", nullptr, nullptr, nullptr), SQLITE_OK);
    const int rows = setting("YOLK_TEST_MUTATIONS", 400);
    for (int row = 1; row <= rows; ++row) {
        const auto put = [&](const char* sql, const std::vector<std::string>& values) {
            sqlite3_stmt* statement = nullptr;
            sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
            for (std::size_t i = 0; i < values.size(); ++i)
                sqlite3_bind_text(statement, static_cast<int>(i) + 1, values[i].data(),
                                  static_cast<int>(values[i].size()), SQLITE_TRANSIENT);
            sqlite3_step(statement);
            sqlite3_finalize(statement);
        };
        const std::string id = std::to_string(row);
        put("INSERT OR REPLACE INTO keys VALUES(?,?,?,?,?,?,?)",
            {id, fuzzed(random, {"device"}), fuzzed(random, {"driver 1"}), fuzzed(random, {"reduce", "softmax"}),
             fuzzed(random, {hash}), fuzzed(random, {"operation=max"}),
             fuzzed(random, {"[" + std::to_string(random() % 3000) + ",64]"})});
        put("INSERT INTO choices VALUES(?,?,?,?,?,?,?,?,?)",
            {id,
             fuzzed(random,
                    {"{\"row_per_invocation\":1,\"rows_per_workgroup\":" + std::to_string(1U << random() % 10) +
                         ",\"lanes_per_row\":32,\"texel_input\":0,\"elements_per_load\":1}",
                     "{\"row_per_invocation\":" + std::to_string(random() % 3) +
                         ",\"rows_per_workgroup\":64,\"lanes_per_row\":32,\"texel_input\":0,\"elements_per_load\":1}"}),
             fuzzed(random, {"1.5", "2"}), "2.0", "0.0", "0.1", fuzzed(random, {"7"}), "0", "1"});
    }
    ASSERT_EQ(sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    const TuningTable usable = usable_choices(choices, {}, {.device = "device", .driver = "driver 1"});
    EXPECT_GT(usable.entries().size(), static_cast<std::size_t>(rows) / 100);
    std::size_t answered = 0;
    for (std::uint32_t outer = 1; outer < 4000; outer += 37) {
        const TuningSpace space =
            space_of(DeviceInfo{}, ReduceDesc{.operation = ReduceOperation::Max, .outer = outer, .columns = 64})
                .space();
        if (const auto answer = usable.find(space)) {
            ++answered;
            EXPECT_TRUE(space.check(answer->configuration)) << space.text(answer->configuration);
        }
    }
    EXPECT_GT(answered, 50U);
}

TEST_F(tuning_file, two_processes_lose_nothing) {
    constexpr int kProcesses = 3;
    constexpr int kSamples = 60;
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process) {
        const pid_t child = ::fork();
        if (child == 0) {
            bool good = true;
            const Result<TuningFile> file = TuningFile::open(table());  // they make it at once, too
            for (int i = 0; good && i < kSamples; ++i) {
                good = file && file->add(some_key(static_cast<std::uint64_t>(i % 3)),
                                         {.configuration = {{"process", static_cast<std::uint32_t>(process)},
                                                            {"sample", static_cast<std::uint32_t>(i)}},
                                          .milliseconds = 1.0});
                if (good && i % 10 == 0) {
                    good = static_cast<bool>(
                        file->put(some_choice(some_key(7), 1U << static_cast<unsigned>(process), 1.0 + 0.1 * process),
                                  std::nullopt));
                }
            }
            ::_exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    std::size_t count = 0;
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(some_key(i)));
        count += samples.size();
    }
    EXPECT_EQ(count, std::size_t{kProcesses * kSamples});
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    ASSERT_THAT(choices, SizeIs(1));
    EXPECT_EQ(choices[0].milliseconds, 1.0);  // the best of them
    EXPECT_EQ(files_with(folder_, ".damaged-"), 0U);
}

TEST_F(tuning_file, a_killed_writer_leaves_a_whole_table) {
    std::mt19937 random(7);
    for (int round = 0; round < 5; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            const Result<TuningFile> file = TuningFile::open(table());
            for (std::uint64_t i = 0; file; ++i)
                static_cast<void>(file->add(some_key(i), {.configuration = {{"tile", 8}}, .milliseconds = 1.0}));
            ::_exit(1);
        }
        ::usleep(static_cast<useconds_t>(random() % 60000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        ASSERT_OK(file.choices());
    }
    EXPECT_EQ(files_with(folder_, ".damaged-"), 0U);
}

TEST(usable_choices, are_those_of_device_driver_and_modules) {
    const TuningKey mine = some_key();
    TuningKey other_modules = some_key(1024);
    other_modules.kernels = "0";
    const std::vector<TuningChoice> choices{some_choice(mine, 32, 1.0), some_choice(some_key(600, "driver 2"), 16, 1.0),
                                            some_choice(other_modules, 8, 1.0), some_choice(some_key(700), 4, 1.0)};
    const std::vector<Quarantined> bad{{some_key(700), choices[3].configuration, "wrong"}};
    const TuningTable table = usable_choices(choices, bad, mine.device);
    ASSERT_THAT(table.entries(), SizeIs(1));
    EXPECT_EQ(table.entries()[0].shape, mine.shape);
    EXPECT_THAT(usable_choices(choices, {}, mine.device).entries(), SizeIs(2));
    EXPECT_THAT(usable_choices(choices, {}, {.device = "device", .driver = "driver 3"}).entries(), SizeIs(0));
}

TEST(tuning_key, tells_drivers_and_processors_apart) {
    DeviceInfo info;
    info.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    info.kind = DeviceKind::Cpu;
    info.vendor_id = 0x10005;
    info.driver_name = "llvmpipe";
    DeviceInfo newer = info;
    newer.name = "llvmpipe (LLVM 19.1.4, 256 bits)";
    newer.driver_info = "Mesa 25";
    EXPECT_EQ(device_key(info, "Xeon"), device_key(info, "Xeon"));
    EXPECT_EQ(device_key(info, "Xeon").device, device_key(newer, "Xeon").device);
    EXPECT_NE(device_key(info, "Xeon").driver, device_key(newer, "Xeon").driver);
    EXPECT_NE(device_key(info, "Xeon").device, device_key(info, "EPYC").device);
    DeviceInfo wider = info;
    wider.limits.subgroup_size = 16;
    EXPECT_NE(device_key(info, "Xeon").driver, device_key(wider, "Xeon").driver);
    EXPECT_NE(kernel_hash("matmul"), kernel_hash("reduce"));
    EXPECT_NE(kernel_hash("covariance"), kernel_hash("inverse_sqrt"));
    EXPECT_EQ(kernel_hash("reduce").size(), 32U);
}

TEST_F(tuning_file, exports_of_another_version_are_refused) {
    const std::string text = export_text({some_choice(some_key(), 32, 1.0)});
    ASSERT_OK_AND_ASSIGN(const Imported now, import_text(text, "now"));
    ASSERT_THAT(now.choices, SizeIs(1));
    for (const char* version : {"0", "1", "3", "-7"}) {
        std::string other = text;
        other.replace(other.find("\"yolk_tuning\": 2"), 16, std::string("\"yolk_tuning\": ") + version);
        const Result<Imported> then = import_text(other, "'then.json'");
        ASSERT_FALSE(then);
        EXPECT_THAT(then.error().message,
                    ::testing::HasSubstr(std::string("'then.json' is an export of version ") + version));
    }
}

}  // namespace
}  // namespace yolk
