// SPDX-License-Identifier: Apache-2.0
// Uploads and downloads where memory is discrete, which a policy forces on any driver: by the dispatcher's ring of
// staging, and through staging that is made for the call, in pieces of 32 MiB that are waited for one by one. The two
// take turns; `times_per_call` is how much faster the ring is, the ratio of the medians.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "bench.hpp"
#include "times.hpp"

namespace yolk::bench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{32} << 20U;

struct Bytes {
    Dispatcher& dispatcher;
    Buffer target;
    std::vector<std::byte> host;
};

Result<void> ring_upload(Bytes& bytes) { return bytes.dispatcher.upload(bytes.target, bytes.host); }
Result<void> ring_download(Bytes& bytes) { return bytes.dispatcher.download(bytes.target, bytes.host); }

/// The recorder is not made for the call, as no dispatcher would.
Result<void> call_upload(Bytes& bytes, Recorder& recorder) {
    const std::size_t piece = std::min(kPieceBytes, bytes.host.size());
    YOLK_TRY(const Buffer staging, bytes.dispatcher.device().create_buffer(
                                       {.size_bytes = piece, .domain = MemoryDomain::Upload, .label = "staging"}));
    for (std::size_t done = 0; done < bytes.host.size(); done += piece) {
        const std::size_t now = std::min(piece, bytes.host.size() - done);
        std::memcpy(staging.mapped().data(), bytes.host.data() + done, now);
        YOLK_TRY_VOID(staging.flush());
        recorder.begin();
        recorder.copy({staging, 0, now}, {bytes.target, done, now});
        YOLK_TRY_VOID(bytes.dispatcher.run(recorder));
    }
    return {};
}

Result<void> call_download(Bytes& bytes, Recorder& recorder) {
    const std::size_t piece = std::min(kPieceBytes, bytes.host.size());
    YOLK_TRY(const Buffer staging, bytes.dispatcher.device().create_buffer(
                                       {.size_bytes = piece, .domain = MemoryDomain::Readback, .label = "staging"}));
    for (std::size_t done = 0; done < bytes.host.size(); done += piece) {
        const std::size_t now = std::min(piece, bytes.host.size() - done);
        recorder.begin();
        recorder.copy({bytes.target, done, now}, {staging, 0, now});
        recorder.barrier(Barrier::ToHost);
        YOLK_TRY_VOID(bytes.dispatcher.run(recorder));
        YOLK_TRY_VOID(staging.invalidate());
        std::memcpy(bytes.host.data() + done, staging.mapped().data(), now);
    }
    return {};
}

Result<void> time_transfers(benchmark::State& state, const BenchDevice& on, bool up, std::size_t size) {
    YOLK_TRY(const Device device, Device::create(on.context.instance(), on.device.info().index,
                                                 {.memory_policy = MemoryPolicy::ForceDiscrete}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(Buffer target, device.create_buffer({.size_bytes = size, .label = "target"}));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.timestamp_count = 0, .label = "call"}));
    Bytes bytes{.dispatcher = dispatcher, .target = std::move(target), .host = std::vector(size, std::byte{1})};
    const auto seconds = [](const auto& work) -> Result<double> {
        const auto begun = std::chrono::steady_clock::now();
        YOLK_TRY_VOID(work());
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    const auto ring = [&] { return up ? ring_upload(bytes) : ring_download(bytes); };
    const auto call = [&] { return up ? call_upload(bytes, recorder) : call_download(bytes, recorder); };
    YOLK_TRY_VOID(call());
    YOLK_TRY_VOID(ring());
    std::vector<double> of_ring, of_calls;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY(const double before, seconds(call));
        YOLK_TRY(const double after, seconds(ring));
        of_calls.push_back(before);
        of_ring.push_back(after);
        state.SetIterationTime(after);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
    state.counters["per_call_us"] = 1e6 * median_of(of_calls);
    state.counters["ring_us"] = 1e6 * median_of(of_ring);
    state.counters["times_per_call"] = median_of(of_calls) / median_of(of_ring);
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (const BenchDevice& on : devices) {
        for (const bool up : {true, false}) {
            for (const std::size_t kib : {4U, 256U, 4096U, 65536U}) {
                const std::string name = std::string("transfer/") + (up ? "upload" : "download") + "/" +
                                         std::to_string(kib) + "_KiB/" + on.name;
                benchmark::RegisterBenchmark(name.c_str(), [&on, up, kib](benchmark::State& state) {
                    const auto done = time_transfers(state, on, up, kib << 10U);
                    if (!done) state.SkipWithError(done.error().message.c_str());
                })->UseManualTime();
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
