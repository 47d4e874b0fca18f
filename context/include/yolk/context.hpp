// SPDX-License-Identifier: Apache-2.0
// A device with all that the commands give it, opened in one call, and what one does with it first: upload, run,
// download. An engine with a device of its own takes the long way (docs/embedding.md).
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct ContextOptions {
    /// Index, UUID or part of a name, as `yolk devices` lists them; empty: $YOLK_DEVICE, else the best device.
    std::string device{};
    /// Plans take the configurations that `yolk tune` has found for this device; off: their defaults. In exact mode the
    /// results are the same bits either way.
    bool tuning = true;
    /// The table's file; empty: $YOLK_TABLE, else tuning.sqlite in default_cache_folder(). One that is missing or
    /// damaged is not an error: plans take their defaults.
    std::filesystem::path tuning_table{};
    /// Compiled kernels are kept in a file, so that the next process need not compile them again.
    bool pipeline_cache = true;
    std::filesystem::path cache_folder{};  ///< of that file; empty: default_cache_folder()
    MemoryPolicy memory_policy = MemoryPolicy::Automatic;
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;  ///< of the dispatcher
    std::string label = "context";  ///< of what run() records, for error messages and debug layers
    /// Also a device that compiles kernels and executes none, for making plans and looking at their pipelines.
    bool may_not_execute = false;
    /// DeviceOptions'; anything but Nothing goes without a pipeline cache.
    PipelineCapture pipeline_capture = PipelineCapture::Nothing;
};

/// `wanted`, else $YOLK_DEVICE, else empty (the best device): what Context::create chooses by.
[[nodiscard]] std::string requested_device(const std::string& wanted);

/// A bound plan whose record() takes no more than a recorder, or a function that records:
/// `[&](Recorder& recorder) { noise.record(recorder, {.seed = 1}); }`.
template <class Work>
concept Recordable = requires(const Work& work, Recorder& recorder) {
    work.record(recorder);
}
|| std::invocable<const Work&, Recorder&>;

/// Vectors, arrays and spans of plain values.
template <class Values>
concept HostValues = std::ranges::contiguous_range<Values> && std::ranges::sized_range<Values> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Values>>;

/// An open device, probed, with a dispatcher, the tuning table and the pipeline cache.
/// Ownership: a context is a handle that is cheap to copy. Copies share one device, which is closed when the last of
/// them and all that was made from it are gone; device() and dispatcher() stay where they are until the last copy is
/// gone. Buffers are the caller's.
/// Threading: every member from any thread; a function given to run() is called on the caller's thread.
/// upload, download and run allocate and wait: they are for the beginning and the end. In the steady state keep a
/// Recorder and submit it to dispatcher() again and again (examples/02_replayed_sequence.cpp).
class Context {
   public:
    /// Errors: no Vulkan loader, no driver or no device (the message says what to install); a request that fits no
    /// device (lists those that there are) or one below the portable floor; a table or folder given for what is turned
    /// off; something that is not a tuning table where the options or $YOLK_TABLE name one; a device that compiles
    /// kernels and executes none (Unsupported), unless the options admit it; driver errors.
    [[nodiscard]] static Result<Context> create(const ContextOptions& options = {});
    /// On an instance that is open already: with the validation layers, or several devices in one process.
    [[nodiscard]] static Result<Context> create(const Instance& instance, const ContextOptions& options = {});

    [[nodiscard]] const Instance& instance() const noexcept;
    [[nodiscard]] const Device& device() const noexcept;
    [[nodiscard]] Dispatcher& dispatcher() const noexcept;

    /// Device memory for `count` values, contents undefined. Errors: Device::create_buffer's.
    template <class T>
    [[nodiscard]] Result<Buffer> allocate(std::uint64_t count, std::string label = "buffer") const {
        return allocate_bytes(count, sizeof(T), std::move(label));
    }
    /// What a plan asks for; an empty buffer, whose view is legal, where that is nothing.
    [[nodiscard]] Result<Buffer> scratch(const MemoryNeeds& needs, std::string label = "scratch") const;

    /// A buffer on the device with these values. Errors: no values, Device::create_buffer's, Dispatcher::upload's.
    template <HostValues Values>
    // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved on
    [[nodiscard]] Result<Buffer> upload(const Values& values, std::string label = "uploaded") const {
        return upload_bytes(bytes_of(values), std::move(label));
    }
    /// Into a view that has room for them, from its beginning. Errors: Dispatcher::upload's.
    template <HostValues Values>
    [[nodiscard]] Result<void> upload(const BufferView& to, const Values& values) const {
        return dispatcher().upload(to, bytes_of(values));
    }

    /// All values of a view, after the work submitted so far. Errors: a view that is not a whole number of values or
    /// leaves its buffer, no host memory for them, Dispatcher::download's.
    template <class T>
    requires(std::is_trivially_copyable_v<T>&& std::default_initializable<T> && !std::same_as<T, bool>)
        [[nodiscard]] Result<std::vector<T>> download(const BufferView& from) const {
        YOLK_TRY_VOID(check_download(from, sizeof(T)));
        std::vector<T> values;
        try {
            values.resize(static_cast<std::size_t>(from.size_bytes / sizeof(T)));
        } catch (const std::exception&) {
            return no_host_memory(from);
        }
        YOLK_TRY_VOID(dispatcher().download(from, std::as_writable_bytes(std::span(values))));
        return values;
    }

    /// Records each work, all that it wrote being visible to the next, submits once and waits. What was written to
    /// Readback buffers can be read after their invalidate(). Errors: what stuck in the recording, Dispatcher::run's.
    template <Recordable... Work>
    requires(sizeof...(Work) > 0) [[nodiscard]] Result<void> run(const Work&... work) const {
        YOLK_TRY(Recorder recorder, create_recorder());
        (record(recorder, work), ...);
        return run_recorded(recorder);
    }

    struct Impl;

   private:
    explicit Context(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

    template <HostValues Values>
    [[nodiscard]] static std::span<const std::byte> bytes_of(const Values& values) {
        return std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values)));
    }
    template <Recordable Work>
    static void record(Recorder& recorder, const Work& work) {
        if constexpr (requires { work.record(recorder); }) {
            work.record(recorder);
        } else {
            work(recorder);
        }
        separate(recorder);
    }
    static void separate(Recorder& recorder) noexcept;
    [[nodiscard]] static Result<void> check_download(const BufferView& from, std::size_t value_bytes);
    [[nodiscard]] static Error no_host_memory(const BufferView& from);
    [[nodiscard]] Result<Buffer> allocate_bytes(std::uint64_t count, std::size_t value_bytes, std::string label) const;
    [[nodiscard]] Result<Buffer> upload_bytes(std::span<const std::byte> bytes, std::string label) const;
    [[nodiscard]] Result<Recorder> create_recorder() const;
    [[nodiscard]] Result<void> run_recorded(Recorder& recorder) const;

    std::shared_ptr<Impl> impl_;
};

}  // namespace yolk
