// SPDX-License-Identifier: Apache-2.0
// The only source that knows MPI.
#include <fmt/format.h>
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "yolk/core/log.hpp"
#include "yolk/train/processes.hpp"

namespace yolk::train {
namespace {

/// A message's head travels in a slot of its own, with the length of the rest: what statistics and agreements have to
/// say fits, so that they take one collective and not two. Not larger: 512 ranks get 511 slots in each round.
constexpr std::size_t kSlotBytes = 96;
struct Slot {
    std::uint64_t size_bytes = 0;
    std::array<std::byte, kSlotBytes - sizeof(std::uint64_t)> head{};
};

/// Waiting ranks must not take the cores on which others compute, so they ask often at first and then seldom.
constexpr std::chrono::microseconds kEager{200};
constexpr std::chrono::microseconds kPause{50};

Result<void> check_mpi(int code, const char* what) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return failed_work("MPI's {} failed: {}. Another rank has ended, or cannot be reached.", what, text.data());
}

Result<void> wait_for(MPI_Request& request, const char* what) {
    const auto begin = std::chrono::steady_clock::now();
    for (int done = 0; done == 0;) {
        YOLK_TRY_VOID(check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what));
        if (done != 0) break;
        if (std::chrono::steady_clock::now() - begin < kEager)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(kPause);
    }
    return {};
}

class MpiProcesses final : public Processes {
   public:
    MpiProcesses() = default;
    ~MpiProcesses() override { MPI_Finalize(); }
    MpiProcesses(const MpiProcesses&) = delete;
    MpiProcesses& operator=(const MpiProcesses&) = delete;

    Result<void> find_places() {
        YOLK_TRY_VOID(check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "set-up"));
        YOLK_TRY_VOID(check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "numbering"));
        YOLK_TRY_VOID(check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "numbering"));
        MPI_Comm machine = MPI_COMM_NULL;
        YOLK_TRY_VOID(check_mpi(
            MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "splitting"));
        YOLK_TRY_VOID(check_mpi(MPI_Comm_rank(machine, &local_rank_), "numbering"));
        YOLK_TRY_VOID(check_mpi(MPI_Comm_size(machine, &local_ranks_), "numbering"));
        YOLK_TRY_VOID(
            check_mpi(MPI_Allreduce(&rank_, &machine_, 1, MPI_INT, MPI_MIN, machine), "numbering of machines"));
        MPI_Comm_free(&machine);
        return {};
    }

    [[nodiscard]] std::uint32_t rank() const noexcept override { return static_cast<std::uint32_t>(rank_); }
    [[nodiscard]] std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(ranks_); }
    [[nodiscard]] std::uint32_t local_rank() const noexcept override { return static_cast<std::uint32_t>(local_rank_); }
    [[nodiscard]] std::uint32_t local_ranks() const noexcept override {
        return static_cast<std::uint32_t>(local_ranks_);
    }
    [[nodiscard]] std::uint32_t machine() const noexcept override { return static_cast<std::uint32_t>(machine_); }
    [[noreturn]] void abort(int exit_code) noexcept override {
        MPI_Abort(MPI_COMM_WORLD, exit_code);
        std::_Exit(exit_code);
    }

   private:
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine) override;
    [[nodiscard]] std::uint64_t carried_bytes(std::uint64_t message) const noexcept override {
        constexpr std::uint64_t kHeadBytes = kSlotBytes - sizeof(std::uint64_t);
        return kSlotBytes + (message > kHeadBytes ? message - kHeadBytes : 0);
    }
    [[nodiscard]] Result<void> gather_rest(std::span<const std::byte> mine, const std::vector<Slot>& slots,
                                           std::vector<std::vector<std::byte>>& all) const;

    int rank_ = 0, ranks_ = 1, local_rank_ = 0, local_ranks_ = 1, machine_ = 0;
};

std::size_t rest_of(const Slot& slot) {
    return slot.size_bytes - std::min<std::size_t>(slot.size_bytes, slot.head.size());
}

Result<std::vector<std::vector<std::byte>>> MpiProcesses::gather(std::span<const std::byte> mine) {
    Slot own{.size_bytes = mine.size()};
    std::ranges::copy(mine.first(std::min(mine.size(), own.head.size())), own.head.begin());
    std::vector<Slot> slots(ranks());
    MPI_Request request = MPI_REQUEST_NULL;
    YOLK_TRY_VOID(check_mpi(
        MPI_Iallgather(&own, sizeof(Slot), MPI_BYTE, slots.data(), sizeof(Slot), MPI_BYTE, MPI_COMM_WORLD, &request),
        "exchange"));
    YOLK_TRY_VOID(wait_for(request, "exchange"));
    std::vector<std::vector<std::byte>> all;
    for (const Slot& slot : slots) {
        const auto head = std::span(slot.head).first(slot.size_bytes - rest_of(slot));
        all.emplace_back(head.begin(), head.end());
    }
    if (std::ranges::any_of(slots, [](const Slot& slot) { return rest_of(slot) > 0; }))
        YOLK_TRY_VOID(gather_rest(mine, slots, all));
    return all;
}

Result<void> MpiProcesses::gather_rest(std::span<const std::byte> mine, const std::vector<Slot>& slots,
                                       std::vector<std::vector<std::byte>>& all) const {
    std::vector<int> sizes, places;
    std::size_t total = 0;
    for (const Slot& slot : slots) {
        sizes.push_back(static_cast<int>(rest_of(slot)));
        places.push_back(static_cast<int>(total));
        total += rest_of(slot);
        if (total > std::numeric_limits<int>::max())
            return bad_input("The ranks have {} bytes or more for each other at once; MPI takes 2^31 - 1.", total);
    }
    std::vector<std::byte> rest(total);
    const auto own = mine.subspan(mine.size() - rest_of(slots[rank()]));
    MPI_Request request = MPI_REQUEST_NULL;
    YOLK_TRY_VOID(check_mpi(MPI_Iallgatherv(own.data(), static_cast<int>(own.size()), MPI_BYTE, rest.data(),
                                            sizes.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD, &request),
                            "exchange"));
    YOLK_TRY_VOID(wait_for(request, "exchange"));
    for (std::size_t from = 0; from < all.size(); ++from) {
        const auto part =
            std::span(rest).subspan(static_cast<std::size_t>(places[from]), static_cast<std::size_t>(sizes[from]));
        all[from].insert(all[from].end(), part.begin(), part.end());
    }
    return {};
}

/// Of the machine: a rank that the launcher bound to a core sees only that one.
std::uint32_t cores_of_machine() {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : static_cast<std::uint32_t>(cores);
}

/// Inside MPI's own waits, too, ranks give way where there are more of them than cores. What the user set stays.
void yield_on_shared_cores(const Launch& launch) {
    if (launch.on_machine <= cores_of_machine()) return;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before MPI and any thread
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (launch.number == 0) {
        log_info(fmt::format("{} ranks share {} core{} of this machine: waiting ranks yield (mpi_yield_when_idle).",
                             launch.on_machine, cores_of_machine(), cores_of_machine() == 1 ? "" : "s"));
    }
}

}  // namespace

bool has_mpi() noexcept { return true; }

Result<std::unique_ptr<Processes>> join_processes(const Launch& launch) {
    yield_on_shared_cores(launch);
    int provided = 0;
    YOLK_TRY_VOID(check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start"));
    auto joined = std::make_unique<MpiProcesses>();
    YOLK_TRY_VOID(joined->find_places());
    if (joined->ranks() != launch.processes) {
        return unsupported(
            "A launcher started {} processes ({}), but MPI sees {}: it is the launcher of another MPI than this "
            "build's "
            "(Open MPI of Debian: mpirun, or srun --mpi=pmix).",
            launch.processes, launch.variable, joined->ranks());
    }
    return std::unique_ptr<Processes>(std::move(joined));
}

}  // namespace yolk::train
