// SPDX-License-Identifier: Apache-2.0
// What the environment says of launchers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

constexpr const char* kAll[]{"OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMI_SIZE",
                             "PMI_RANK",
                             "MPI_LOCALNRANKS",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_PROCID",
                             "SLURM_STEP_TASKS_PER_NODE",
                             "SLURM_NTASKS"};

class launch : public ::testing::Test {
   protected:
    /// The suite's own launcher, if it has one, is out of sight meanwhile.
    void SetUp() override {
        for (const char* name : kAll) {
            if (const char* const value = std::getenv(name)) before_[name] = value;
            ::unsetenv(name);
        }
    }
    void TearDown() override {
        for (const char* name : kAll) ::unsetenv(name);
        for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
    }
    static void set(const std::map<std::string, std::string>& variables) {
        for (const char* name : kAll) ::unsetenv(name);
        for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    }
    std::map<std::string, std::string> before_;
};

void expect_launch(const char* variable, std::uint32_t processes, std::uint32_t number, std::uint32_t on_machine) {
    const std::optional<Launch> seen = seen_launch();
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->variable, variable);
    EXPECT_EQ(seen->processes, processes);
    EXPECT_EQ(seen->number, number);
    EXPECT_EQ(seen->on_machine, on_machine);
}

TEST_F(launch, is_nothing_without_a_launcher) {
    EXPECT_FALSE(seen_launch().has_value());
    // Of a batch script, whose own commands no launcher started.
    set({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}});
    EXPECT_FALSE(seen_launch().has_value());
}

TEST_F(launch, of_open_mpi) {
    set({{"OMPI_COMM_WORLD_SIZE", "6"}, {"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
    expect_launch("OMPI_COMM_WORLD_SIZE", 6, 4, 3);
}

TEST_F(launch, of_mpich_and_intel) {
    set({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}, {"MPI_LOCALNRANKS", "2"}});
    expect_launch("PMI_SIZE", 4, 3, 2);
}

TEST_F(launch, of_slurm) {
    set({{"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_PROCID", "9"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x4)"}});
    expect_launch("SLURM_STEP_NUM_TASKS", 16, 9, 4);
}

TEST_F(launch, that_is_incomplete_or_no_number_is_not_one) {
    set({{"PMI_SIZE", "4"}});
    EXPECT_FALSE(seen_launch().has_value());
    set({{"OMPI_COMM_WORLD_SIZE", "many"}, {"OMPI_COMM_WORLD_RANK", "0"}});
    EXPECT_FALSE(seen_launch().has_value());
    set({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}});
    expect_launch("SLURM_STEP_NUM_TASKS", 2, 1, 1);
}

// mpirun inside a Slurm step: the nearer launcher counts.
TEST_F(launch, by_mpirun_within_slurm_is_mpiruns) {
    set({{"OMPI_COMM_WORLD_SIZE", "2"},
         {"OMPI_COMM_WORLD_RANK", "1"},
         {"SLURM_STEP_NUM_TASKS", "1"},
         {"SLURM_PROCID", "0"}});
    expect_launch("OMPI_COMM_WORLD_SIZE", 2, 1, 1);
}

}  // namespace
}  // namespace yolk::train
