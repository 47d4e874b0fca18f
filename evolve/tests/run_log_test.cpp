// SPDX-License-Identifier: Apache-2.0
#include "yolk/run_log.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "run_log_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

class run_log : public InLogFolder {};

TEST_F(run_log, round_trip_of_both_kinds) {
    for (const FitnessWeights weights : {FitnessWeights::I8, FitnessWeights::F32}) {
        for (const std::uint32_t first : {0U, 7U}) {
            ASSERT_OK(write_log(file(), 4, weights, first));
            ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(file()));
            EXPECT_EQ(log.header(), example_header(weights, first));
            EXPECT_EQ(log.torn_bytes(), 0U);
            expect_example(log, first + 4);
            ASSERT_OK_AND_ASSIGN(const std::string begins, log.digest_after(first));
            EXPECT_EQ(begins, log.header().first_digest);
            ASSERT_OK_AND_ASSIGN(const std::string ends, log.digest_after(first + 4));
            EXPECT_EQ(ends, example_generation(first + 3).digest);
            EXPECT_TRUE(expect_error(log.read(first + 4), ErrorKind::BadInput,
                                     "has no generation " + std::to_string(first + 4)));
        }
    }
}

TEST_F(run_log, a_generation_of_4096_members_takes_2120_bytes) {
    RunLogHeader header = example_header();
    header.weight_count = 2048;
    RunLogWriter log = RunLogWriter::replace(file(), header);
    LoggedGeneration logged = example_generation(0);
    logged.shaped.integer_weights.assign(2048, 1);
    ASSERT_OK(log.append(logged));
    const std::uintmax_t one = std::filesystem::file_size(file());
    logged.generation = 1;
    ASSERT_OK(log.append(logged));
    EXPECT_EQ(std::filesystem::file_size(file()) - one, 2120U);
}

TEST_F(run_log, elements_that_generations_set_are_in_it_and_make_it_version_2) {
    RunLogHeader header = example_header();
    header.tail_count = 2;
    LoggedGeneration logged = example_generation(0);
    {
        RunLogWriter log = RunLogWriter::replace(file(), header);
        EXPECT_TRUE(expect_error(log.append(logged), ErrorKind::BadInput, "sets 0 elements"));
        logged.shaped.tail = {16777215.0F, -0.5F};
        ASSERT_OK(log.append(logged));
    }
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(file()));
    EXPECT_EQ(log.header(), header);
    ASSERT_OK_AND_ASSIGN(const LoggedGeneration read, log.read(0));
    EXPECT_EQ(read.shaped, logged.shaped);
    EXPECT_EQ(read.digest, logged.digest);
    std::vector<std::byte> bytes = bytes_of(file());
    EXPECT_EQ(bytes[8], std::byte{2});
    ASSERT_OK(write_log(file(), 1));
    EXPECT_EQ(bytes_of(file())[8], std::byte{1});
    header.tail_count = header.element_count + 1;
    RunLogWriter other = RunLogWriter::replace(file(), header);
    logged.shaped.tail.assign(header.tail_count, 1.0F);
    ASSERT_OK(other.append(logged));
    EXPECT_TRUE(expect_error(RunLogReader::open(file()), ErrorKind::BadInput, "does not say how many"));
}

TEST_F(run_log, header_says_what_the_options_mean) {
    EvolutionOptions options{.population = 12};
    const std::vector<float> values(3, 0.5F);
    ASSERT_OK_AND_ASSIGN(const RunLogHeader pairs, run_log_header({}, options, values, {}, 0));
    EXPECT_EQ(pairs.weights, FitnessWeights::I8);
    EXPECT_EQ(pairs.weight_count, 6U);
    EXPECT_EQ(pairs.element_count, 3U);
    EXPECT_EQ(pairs.first_digest.size(), 32U);
    options.antithetic = false;
    options.fitness = FitnessRule::ZScore;
    ASSERT_OK_AND_ASSIGN(const RunLogHeader members, run_log_header({}, options, values, values, 9));
    EXPECT_EQ(members.weights, FitnessWeights::F32);
    EXPECT_EQ(members.weight_count, 12U);
    EXPECT_EQ(members.first_generation, 9U);
    EXPECT_NE(members.first_digest, pairs.first_digest);
}

TEST_F(run_log, an_old_file_stays_until_the_first_generation) {
    ASSERT_OK(write_log(file(), 2));
    const std::vector<std::byte> old = bytes_of(file());
    RunLogHeader header = example_header();
    header.settings[1].second = "0.3";
    RunLogWriter log = RunLogWriter::replace(file(), header);
    ASSERT_OK(log.sync());
    EXPECT_EQ(bytes_of(file()), old);
    ASSERT_OK(log.append(example_generation(0)));
    ASSERT_OK_AND_ASSIGN(const RunLogReader read, RunLogReader::open(file()));
    EXPECT_EQ(read.header(), header);
    expect_example(read, 1);
}

TEST_F(run_log, goes_on_where_it_was_cut) {
    ASSERT_OK(write_log(file("whole"), 6));
    for (std::uint32_t kept = 0; kept <= 4; ++kept) {
        ASSERT_OK(write_log(file(), 4));
        std::vector<std::byte> torn = bytes_of(file());
        torn.resize(torn.size() + 11, std::byte{7});
        write_bytes(file(), torn);
        ASSERT_OK_AND_ASSIGN(const RunLogReader before, RunLogReader::open(file()));
        EXPECT_EQ(before.torn_bytes(), 11U);
        ASSERT_OK_AND_ASSIGN(RunLogWriter log, RunLogWriter::continue_after(before, kept));
        EXPECT_EQ(bytes_of(file()), torn);  // not before there is something to put in its place
        EXPECT_EQ(log.generations(), kept);
        for (std::uint32_t g = kept; g < 6; ++g) ASSERT_OK(log.append(example_generation(g)));
        EXPECT_EQ(bytes_of(file()), bytes_of(file("whole")));
    }
    ASSERT_OK_AND_ASSIGN(const RunLogReader whole, RunLogReader::open(file("whole")));
    EXPECT_TRUE(expect_error(RunLogWriter::continue_after(whole, 7), ErrorKind::BadInput, "it has 0 to 6"));
    ASSERT_OK(write_log(file("later"), 2, FitnessWeights::I8, 3));
    ASSERT_OK_AND_ASSIGN(const RunLogReader later, RunLogReader::open(file("later")));
    EXPECT_TRUE(expect_error(RunLogWriter::continue_after(later, 2), ErrorKind::BadInput, "it has 3 to 5"));
}

TEST_F(run_log, cut_drops_what_follows_at_once) {
    ASSERT_OK(write_log(file(), 6));
    const std::vector<std::byte> whole = bytes_of(file());
    ASSERT_OK_AND_ASSIGN(const RunLogReader before, RunLogReader::open(file()));
    ASSERT_OK_AND_ASSIGN(RunLogWriter log, RunLogWriter::continue_after(before, 4));
    EXPECT_EQ(bytes_of(file()), whole);
    ASSERT_OK(log.cut());
    ASSERT_OK_AND_ASSIGN(const RunLogReader cut, RunLogReader::open(file()));
    EXPECT_EQ(cut.torn_bytes(), 0U);
    expect_example(cut, 4);
    ASSERT_OK(log.append(example_generation(4)));
    ASSERT_OK(log.cut());
    ASSERT_OK_AND_ASSIGN(const RunLogReader after, RunLogReader::open(file()));
    expect_example(after, 5);
}
TEST_F(run_log, cutting_a_new_log_leaves_the_old_file) {
    ASSERT_OK(write_log(file(), 2));
    const std::vector<std::byte> old = bytes_of(file());
    RunLogWriter log = RunLogWriter::replace(file(), example_header());
    ASSERT_OK(log.cut());
    EXPECT_EQ(bytes_of(file()), old);
}

TEST_F(run_log, what_is_not_of_this_log_is_refused) {
    RunLogWriter log = RunLogWriter::replace(file(), example_header());
    EXPECT_TRUE(expect_error(log.append(example_generation(1)), ErrorKind::BadInput, "0 is the next"));
    EXPECT_TRUE(expect_error(log.append(example_generation(0, FitnessWeights::F32)), ErrorKind::BadInput,
                             "0 int8 and 5 fp32 weights; this log has 5 int8"));
    LoggedGeneration bad = example_generation(0);
    bad.shaped.integer_weights.pop_back();
    EXPECT_TRUE(expect_error(log.append(bad), ErrorKind::BadInput, "4 int8"));
    bad = example_generation(0);
    bad.digest = "0xff";
    EXPECT_TRUE(expect_error(log.append(bad), ErrorKind::BadInput, "32 hexadecimal digits"));
    EXPECT_FALSE(std::filesystem::exists(file()));
    EXPECT_OK(log.append(example_generation(0)));
}

/// A reader would refuse it.
TEST_F(run_log, a_header_that_is_too_long_is_refused) {
    RunLogHeader header = example_header();
    header.settings[0].second.assign(std::size_t{1} << 20U, 'x');
    RunLogWriter log = RunLogWriter::replace(file(), header);
    EXPECT_TRUE(expect_error(log.append(example_generation(0)), ErrorKind::BadInput, "1048576 are allowed"));
    EXPECT_FALSE(std::filesystem::exists(file()));
    header.settings[0].second.resize((std::size_t{1} << 20U) - 300);
    RunLogWriter shorter = RunLogWriter::replace(file(), header);
    ASSERT_OK(shorter.append(example_generation(0)));
    EXPECT_OK(RunLogReader::open(file()));
}

TEST_F(run_log, a_file_that_cannot_be_opened_again_gets_each_generation_once) {
    RunLogWriter log = RunLogWriter::replace(file(), example_header());
    ASSERT_OK(log.append(example_generation(0)));
    std::filesystem::rename(file(), file("elsewhere"));
    EXPECT_TRUE(expect_error(log.append(example_generation(1)), ErrorKind::Io, "open"));
    EXPECT_EQ(log.generations(), 1U);
    std::filesystem::rename(file("elsewhere"), file());
    ASSERT_OK(log.append(example_generation(1)));
    ASSERT_OK_AND_ASSIGN(const RunLogReader read, RunLogReader::open(file()));
    expect_example(read, 2);
}

// As on a full disk: no file may grow past the limit. A child has the limit, so that nothing else meets it.
TEST_F(run_log, a_write_that_fails_leaves_whole_records) {
    ASSERT_OK(write_log(file(), 1));
    const auto one = static_cast<std::uint64_t>(std::filesystem::file_size(file()));
    const std::filesystem::path path = file();
    const auto fill = [&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{.rlim_cur = one + 200, .rlim_max = one + 200};  // a record has 77 bytes
        ::setrlimit(RLIMIT_FSIZE, &limit);
        RunLogWriter log = RunLogWriter::replace(path, example_header());
        for (std::uint32_t g = 0; g < 3; ++g) {
            if (!log.append(example_generation(g))) ::_exit(2);
        }
        const Result<void> refused = log.append(example_generation(3));
        const bool told = !refused && refused.error().kind == ErrorKind::Io &&
                          refused.error().message.find("File too large") != std::string::npos;
        ::_exit(told && log.generations() == 3 ? 0 : 1);
    };
    EXPECT_EXIT(fill(), ::testing::ExitedWithCode(0), "");
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(path));
    EXPECT_EQ(log.torn_bytes(), 0U);
    expect_example(log, 3);
    ASSERT_OK_AND_ASSIGN(RunLogWriter next, RunLogWriter::continue_after(log, 3));
    EXPECT_OK(next.append(example_generation(3)));
}

TEST_F(run_log, a_file_that_was_shortened_since_is_not_written_to) {
    ASSERT_OK(write_log(file(), 3));
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(file()));
    ASSERT_OK_AND_ASSIGN(RunLogWriter writer, RunLogWriter::continue_after(log, 3));
    std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 1);
    EXPECT_TRUE(expect_error(writer.append(example_generation(3)), ErrorKind::Io, "somebody else changed it"));
    EXPECT_TRUE(expect_error(log.read(2), ErrorKind::BadInput, "damaged at generation 2"));
}

}  // namespace
}  // namespace yolk::evolve
