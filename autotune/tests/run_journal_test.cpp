// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/run_journal.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "table_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using run_journal = TableFolder;

TEST_F(run_journal, of_a_living_process_stays) {
    ASSERT_OK_AND_ASSIGN(RunJournal journal, RunJournal::create(folder_ / "running"));
    ASSERT_OK(journal.begin("{}"));
    EXPECT_THAT(RunJournal::take_abandoned(folder_ / "running"), IsEmpty());
    ASSERT_OK(journal.end());
}

TEST_F(run_journal, that_ended_what_it_began_leaves_nothing) {
    {
        ASSERT_OK_AND_ASSIGN(RunJournal journal, RunJournal::create(folder_ / "running"));
        ASSERT_OK(journal.begin("{}"));
    }
    EXPECT_THAT(RunJournal::take_abandoned(folder_ / "running"), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "running"));
    EXPECT_THAT(RunJournal::take_abandoned(folder_ / "nowhere"), IsEmpty());
}

TEST_F(run_journal, of_a_killed_process_says_what_it_ran_once) {
    const pid_t child = ::fork();
    if (child == 0) {
        Result<RunJournal> journal = RunJournal::create(folder_ / "running");
        if (journal && journal->begin(R"({"a longer": "text"})") && journal->begin(R"({"tile": 8})")) ::raise(SIGKILL);
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_THAT(RunJournal::take_abandoned(folder_ / "running"), ElementsAre(R"({"tile": 8})"));
    EXPECT_THAT(RunJournal::take_abandoned(folder_ / "running"), IsEmpty());
}

}  // namespace
}  // namespace yolk::autotune
