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
#include <list>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "blocking_wait.hpp"
#include "rank_presence.hpp"
#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/internal/train/processes.hpp"
#include "yolk/log.hpp"
#include "yolk/stop.hpp"

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

/// Between looks at who is missing, the clock and a request to end.
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::milliseconds kOnceAskedToEnd{1500};
/// The first rank that aborts ends all. Rank 0, which gives up at about the same time, saves before it aborts.
constexpr std::chrono::seconds kFirstRankSaves{10};
/// Well before who is missing is told, so that it is known then.
constexpr std::chrono::seconds kCallsRoll{1};
constexpr int kRollTag = 7;

/// What a rank tells the others where a round takes long: that it waits in it. Who has not told is waited for.
class RollCall {
   public:
    /// Another round of the collectives begins.
    void begin_round() { ++round_; }
    /// Tells once per round, and hears what has come.
    void call(int own, int ranks) {
        heard_.resize(static_cast<std::size_t>(ranks), 0);
        if (told_ != round_) {
            told_ = round_;
            for (int rank = 0; rank < ranks; ++rank) {
                if (rank == own) continue;
                Told& told = sent_.emplace_back();
                told.round = round_;
                MPI_Isend(&told.round, 1, MPI_UINT64_T, rank, kRollTag, MPI_COMM_WORLD, &told.request);
            }
        }
        for (int has_come = 1; has_come != 0;) {
            MPI_Status status{};
            MPI_Iprobe(MPI_ANY_SOURCE, kRollTag, MPI_COMM_WORLD, &has_come, &status);
            if (has_come == 0) break;
            std::uint64_t round = 0;
            MPI_Recv(&round, 1, MPI_UINT64_T, status.MPI_SOURCE, kRollTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            std::uint64_t& last = heard_[static_cast<std::size_t>(status.MPI_SOURCE)];
            last = std::max(last, round);
        }
        std::erase_if(sent_, [](Told& told) {
            int done = 0;
            return MPI_Test(&told.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
        });
    }
    [[nodiscard]] std::vector<std::uint32_t> missing(int own) const {
        std::vector<std::uint32_t> ranks;
        for (std::uint32_t rank = 0; rank < heard_.size(); ++rank) {
            if (static_cast<int>(rank) != own && heard_[rank] < round_) ranks.push_back(rank);
        }
        return ranks;
    }
    /// Of those who wait in this round, the lowest speaks.
    [[nodiscard]] bool speaks(int own) const {
        return std::none_of(heard_.begin(), heard_.begin() + std::min<std::ptrdiff_t>(own, std::ssize(heard_)),
                            [this](std::uint64_t round) { return round >= round_; });
    }

   private:
    struct Told {
        std::uint64_t round = 0;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    std::uint64_t round_ = 0;
    std::uint64_t told_ = 0;
    std::list<Told> sent_;                ///< stay where they are until they are received
    std::vector<std::uint64_t> heard_{};  ///< the last round of each
};

class MpiProcesses final : public Processes {
   public:
    explicit MpiProcesses(std::chrono::nanoseconds limit) : limit_(limit) {}
    ~MpiProcesses() override {
        const BlockingWait wait(limit_, [] { return std::string("another rank, which has not ended"); });
        MPI_Finalize();
    }
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
        if (gave_up_ && rank_ != 0) std::this_thread::sleep_for(kFirstRankSaves);
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
                                           std::vector<std::vector<std::byte>>& all);

    [[nodiscard]] Result<void> wait_for(MPI_Request& request);
    [[nodiscard]] Result<void> look_around(std::chrono::nanoseconds waited);
    [[nodiscard]] std::string missing_text() const;

    std::chrono::nanoseconds limit_;
    RollCall roll_;
    std::chrono::nanoseconds asked_to_end_{0};  ///< for how long a wait has gone on since
    bool gave_up_ = false;                      ///< a wait has ended without the others
    /// Of all rounds: generations that take long are told more and more seldom.
    WaitNotice notice_{[this] { return missing_text(); }, limit_};

    int rank_ = 0, ranks_ = 1, local_rank_ = 0, local_ranks_ = 1, machine_ = 0;
};

std::string MpiProcesses::missing_text() const {
    const std::vector<std::uint32_t> missing = roll_.missing(rank_);
    return missing.empty() ? std::string("MPI, which has everyone's part of an exchange") : ranks_text(missing);
}

/// Error: a rank has not come in time, or this process was asked to end.
Result<void> MpiProcesses::look_around(std::chrono::nanoseconds waited) {
    if (waited < kCallsRoll) return {};
    roll_.call(rank_, ranks_);
    if (roll_.speaks(rank_)) notice_.look(waited);
    if (stop_requested()) asked_to_end_ += kBetweenLooks;
    // One that is a little slower is waited for, so that all end together and save.
    gave_up_ = waited >= limit_ || (asked_to_end_ >= kOnceAskedToEnd && waited >= WaitNotice::kFirst);
    if (!gave_up_) return {};
    if (waited < limit_) return failed_work("This rank was asked to end while it waited for {}.", missing_text());
    return failed_work(
        "{} has not answered for {}, so the run ends. Is it stopped, or does its work take so long? --rank-seconds "
        "sets the limit.",
        missing_text(), duration_text(limit_));
}

Result<void> MpiProcesses::wait_for(MPI_Request& request) {
    using Clock = std::chrono::steady_clock;
    roll_.begin_round();
    asked_to_end_ = {};
    const Clock::time_point begin = Clock::now();
    Clock::time_point look = begin + kBetweenLooks;
    for (int done = 0; done == 0;) {
        YOLK_TRY_VOID(check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "exchange"));
        if (done != 0) break;
        const Clock::time_point now = Clock::now();
        if (now >= look) {
            YOLK_TRY_VOID(look_around(now - begin));
            look = now + kBetweenLooks;
        }
        if (now - begin < kEager)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(kPause);
    }
    return {};
}

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
    YOLK_TRY_VOID(wait_for(request));
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
                                       std::vector<std::vector<std::byte>>& all) {
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
    YOLK_TRY_VOID(wait_for(request));
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

Result<std::unique_ptr<Processes>> join_processes(const Launch& launch, std::chrono::nanoseconds limit) {
    yield_on_shared_cores(launch);
    static const RankPresence presence(launch);  // to the process's end: others may still be waiting
    const BlockingWait wait(limit, [] { return presence.missing(); });
    int provided = 0;
    YOLK_TRY_VOID(check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start"));
    auto joined = std::make_unique<MpiProcesses>(limit);
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
