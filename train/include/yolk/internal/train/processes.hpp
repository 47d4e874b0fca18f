// SPDX-License-Identifier: Apache-2.0
// The processes of one run, on one machine or many, that an MPI launcher started (docs/distributed.md). No MPI header
// is needed to use it, and no MPI to build it: without, a process that a launcher started says what to install.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/result.hpp"

namespace yolk::train {

/// What the environment says of a launcher: Open MPI's mpirun, MPICH's and Intel's, Slurm's srun.
struct Launch {
    std::string variable{};        ///< that told
    std::uint32_t processes = 1;   ///< as far as it says; the number that counts is MPI's own
    std::uint32_t number = 0;      ///< of this process
    std::uint32_t on_machine = 1;  ///< processes on this machine, as far as it says
};
/// Nothing where this process was started by itself.
[[nodiscard]] std::optional<Launch> seen_launch();
/// Whether this build has MPI.
[[nodiscard]] bool has_mpi() noexcept;

/// What ranks say to each other, over MPI. One per process, on the thread that made it; its end is MPI's.
class Processes : public evolve::Exchange {
   public:
    [[nodiscard]] virtual std::uint32_t local_rank() const noexcept = 0;   ///< among those of this machine, from 0
    [[nodiscard]] virtual std::uint32_t local_ranks() const noexcept = 0;  ///< on this machine
    /// The same number for the ranks of one machine, and for no other: the lowest of them.
    [[nodiscard]] virtual std::uint32_t machine() const noexcept = 0;
    /// Ends all processes at once with this exit code, for an error that the others cannot know of. Does not return.
    [[noreturn]] virtual void abort(int exit_code) noexcept = 0;
};

/// How long ranks wait for one that does not come, or does not answer.
inline constexpr std::chrono::seconds kRankLimit{600};

/// Initialises MPI, once in a process. Where a rank has not come within the limit, it is named, and this process ends
/// (MPI has no other way out); a later call that it does not answer within it is an error. Errors: a build without MPI
/// (Unsupported, with what to install), MPI sees another number of processes than the launcher started (another MPI's
/// launcher), MPI's own.
[[nodiscard]] Result<std::unique_ptr<Processes>> join_processes(const Launch& launch,
                                                                std::chrono::nanoseconds limit = kRankLimit);

/// What ranks say first, in a form that every version keeps: whether all run this version and this very binary. One
/// round. Errors, on all ranks: another version or binary (with the rank and both values), a file that cannot be read.
[[nodiscard]] Result<void> compare_programs(evolve::Exchange& exchange);

}  // namespace yolk::train
