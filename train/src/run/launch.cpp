// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

std::optional<std::uint32_t> number_in(const char* variable) {
    if (variable == nullptr) return std::nullopt;
    const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before threads are made
    std::uint32_t number = 0;
    if (text == nullptr || std::from_chars(text, text + std::strlen(text), number).ec != std::errc())
        return std::nullopt;
    return number;
}

struct Launcher {
    const char* processes;
    const char* number;
    const char* on_machine;
};
/// Slurm's are those of a step, which srun makes: a batch script's own commands are not started by a launcher, although
/// SLURM_NTASKS is set there.
constexpr std::array<Launcher, 3> kLaunchers{
    {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"}}};

}  // namespace

std::optional<Launch> seen_launch() {
    for (const Launcher& launcher : kLaunchers) {
        const std::optional<std::uint32_t> processes = number_in(launcher.processes);
        const std::optional<std::uint32_t> number = number_in(launcher.number);
        if (!processes || !number) continue;
        return Launch{.variable = launcher.processes,
                      .processes = *processes,
                      .number = *number,
                      .on_machine = number_in(launcher.on_machine).value_or(1)};
    }
    return std::nullopt;
}

}  // namespace yolk::train
