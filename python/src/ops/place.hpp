// SPDX-License-Identifier: Apache-2.0
// A device with the arrays that Python keeps on it: plans that are made once, and work that runs behind the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/kernel.hpp"
#include "yolk/context.hpp"

namespace yolk::python {

/// Memory of an array. Null: an array without elements.
using Block = std::shared_ptr<const Buffer>;

/// Threading: every member from any thread; calls take turns. What runs keeps the memory that it uses, so arrays may be
/// dropped at any time.
class Place {
   public:
    /// The one of this device, opened where it is not yet. `request`: as ContextOptions::device. Errors: those of
    /// Context::create, and a process that was forked.
    [[nodiscard]] static Result<std::shared_ptr<Place>> of(const std::string& request);
    /// Ends the work of all places; their arrays cannot be used afterwards.
    static void close_all();

    explicit Place(Context context) : context_(std::move(context)) {}
    ~Place() { close(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] const DeviceInfo& info() const noexcept { return context_.device().info(); }
    [[nodiscard]] OperationCounts counts() const noexcept { return context_.device().counts(); }

    /// Errors, as of all below: BadInput for a place that was closed, Unsupported after a fork, those of the device.
    [[nodiscard]] Result<Block> upload(std::span<const std::byte> bytes);
    [[nodiscard]] Result<void> download(const Block& block, std::span<std::byte> bytes);
    /// Submits and does not wait. `operands`: for each view that the kernel uses and reads, in order; of
    /// an InOut view a copy is written, of zeros where the operand is null. Returns what it
    /// writes, in order.
    [[nodiscard]] Result<std::vector<Block>> run(const std::string& operation, const std::string& fields,
                                                 const Numbers& numbers, std::span<const Block> operands,
                                                 const When& when);
    [[nodiscard]] Result<void> wait();
    void close();

   private:
    /// Submitted work, and what it uses.
    struct Flight {
        Recorder recorder;
        Submission submission{};
        std::shared_ptr<const void> bound{};
        std::vector<Block> blocks{};
    };
    struct Views;

    [[nodiscard]] Result<void> check_open() const;
    [[nodiscard]] Result<std::shared_ptr<const Kernel>> kernel_of(const std::string& operation,
                                                                  const std::string& fields, const Numbers& numbers);
    [[nodiscard]] Result<Block> allocate(std::uint64_t bytes, const char* label);
    [[nodiscard]] Result<Views> views_of(const Kernel& kernel, std::span<const Block> operands);
    [[nodiscard]] Result<void> fly(const Kernel& kernel, const Views& views, const When& when);
    [[nodiscard]] Result<Recorder> take_recorder();
    [[nodiscard]] Result<void> land(std::size_t most_left);
    [[nodiscard]] bool is_lost();

    std::mutex guard_;
    Context context_;
    // Under guard_, and destroyed before the context.
    std::unordered_map<std::string, std::shared_ptr<const Kernel>> kernels_;
    std::deque<Flight> flights_;
    std::vector<Recorder> recorders_;
    Block scratch_;
    std::uint64_t scratch_bytes_ = 0;
    std::optional<Submission> last_;
    bool closed_ = false;
    bool lost_ = false;
};

}  // namespace yolk::python
