// SPDX-License-Identifier: Apache-2.0
// In builds that found no MPI.
#include "yolk/internal/train/processes.hpp"

namespace yolk::train {

bool has_mpi() noexcept { return false; }

Result<std::unique_ptr<Processes>> join_processes(const Launch& launch, std::chrono::nanoseconds /*limit*/) {
    return unsupported(
        "This is process {} of {} that a launcher started ({} is set), but this build of Yolk has no MPI. Install "
        "libopenmpi-dev and openmpi-bin, configure and build again, and use that mpirun.",
        launch.number, launch.processes, launch.variable);
}

}  // namespace yolk::train
