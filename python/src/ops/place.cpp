// SPDX-License-Identifier: Apache-2.0
#include "ops/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/devices.hpp"
#include "yolk/internal/runtime/device_selection.hpp"

namespace yolk::python {
namespace {

constexpr std::size_t kMostFlights = 32;
constexpr std::size_t kMostKernels = 4096;

std::mutex places_guard;
/// By the index of the device, and by what was asked for; under places_guard.
std::map<std::string, std::shared_ptr<Place>>& places() {
    static std::map<std::string, std::shared_ptr<Place>> all;
    return all;
}

std::uint64_t bytes_of(const ViewShape& shape) {
    std::uint64_t bytes = size_bytes(shape.dtype);
    for (const NamedExtent& extent : shape.extents) bytes *= extent.value;
    return bytes;
}

}  // namespace

struct Place::Views {
    std::vector<BufferView> all;
    std::vector<Block> kept;
    std::vector<Block> written;
    std::vector<std::pair<BufferView, BufferView>> copies;  ///< from, to; nowhere: zeros
};

Result<std::shared_ptr<Place>> Place::of(const std::string& request) {
    YOLK_TRY_VOID(check_not_forked());
    const std::string wanted = requested_device(request);
    const std::scoped_lock lock(places_guard);
    const auto known = places().find("request " + wanted);
    if (known != places().end() && !known->second->is_lost()) return known->second;
    YOLK_TRY(const Instance instance, Instance::create());
    YOLK_TRY(const DeviceChoice choice, choose_device(instance.devices(), wanted));
    std::shared_ptr<Place>& place = places()[fmt::format("device {}", choice.index)];
    if (place == nullptr || place->is_lost()) {
        YOLK_TRY(Context context, Context::create(instance, {.device = std::to_string(choice.index), .label = "ops"}));
        place = std::make_shared<Place>(std::move(context));
    }
    places()["request " + wanted] = place;
    return place;
}

void Place::close_all() {
    std::map<std::string, std::shared_ptr<Place>> all;
    {
        const std::scoped_lock lock(places_guard);
        all.swap(places());
    }
    if (!check_not_forked()) {
        // Work of the parent's would never end here, and its memory is not ours to free.
        static_cast<void>(new auto(std::move(all)));  // NOLINT(cppcoreguidelines-owning-memory)
        return;
    }
    for (const auto& [name, place] : all) place->close();
}

Result<void> Place::check_open() const {
    YOLK_TRY_VOID(check_not_forked());
    if (!closed_) return {};
    return bad_input("This array's device was closed (yolk.ops.close()). Make the array anew with yolk.array().");
}

bool Place::is_lost() {
    const std::scoped_lock lock(guard_);
    return lost_;
}

Result<Block> Place::allocate(std::uint64_t bytes, const char* label) {
    if (bytes == 0) return Block();
    // Whole words: arrays of 16 and 8 bits are read by the word.
    const BufferDesc desc{.size_bytes = (bytes + 3) / 4 * 4, .label = label};
    Result<Buffer> buffer = context_.device().create_buffer(desc);
    if (!buffer && buffer.error().kind == ErrorKind::OutOfMemory && !flights_.empty()) {
        YOLK_TRY_VOID(land(0));
        buffer = context_.device().create_buffer(desc);
    }
    if (!buffer) return std::move(buffer).error();
    return std::make_shared<const Buffer>(std::move(*buffer));
}

Result<Block> Place::upload(std::span<const std::byte> bytes) {
    const std::scoped_lock lock(guard_);
    YOLK_TRY_VOID(check_open());
    YOLK_TRY(Block block, allocate(bytes.size(), "array"));
    if (block != nullptr) YOLK_TRY_VOID(context_.dispatcher().upload(BufferView(*block).part(0, bytes.size()), bytes));
    return block;
}

Result<void> Place::download(const Block& block, std::span<std::byte> bytes) {
    const std::scoped_lock lock(guard_);
    YOLK_TRY_VOID(check_open());
    YOLK_TRY_VOID(land(0));
    if (block == nullptr) return {};
    return context_.dispatcher().download(BufferView(*block).part(0, bytes.size()), bytes);
}

Result<std::shared_ptr<const Kernel>> Place::kernel_of(const std::string& operation, const std::string& fields,
                                                       const Numbers& numbers) {
    std::string key = operation + ' ' + fields;
    for (const auto& [name, value] : numbers) fmt::format_to(std::back_inserter(key), " {}:{:a}", name, value);
    const auto known = kernels_.find(key);
    if (known != kernels_.end()) return known->second;
    YOLK_TRY(std::shared_ptr<const Kernel> kernel, plan_kernel(context_.device(), operation, fields, numbers));
    if (kernels_.size() >= kMostKernels) {
        YOLK_TRY_VOID(land(0));
        kernels_.clear();
    }
    kernels_.emplace(std::move(key), kernel);
    return kernel;
}

Result<Place::Views> Place::views_of(const Kernel& kernel, std::span<const Block> operands) {
    Views views;
    std::size_t next = 0;
    for (const DescribedView& described : kernel.views()) {
        if (!described.shape.used) {
            views.all.emplace_back();
            continue;
        }
        Block operand;
        if (described.role != ViewRole::Output) {
            if (next == operands.size()) return bad_input("The kernel reads more than the {} arrays given.", next);
            operand = operands[next++];
        }
        if (described.role == ViewRole::Input) {
            views.all.push_back(operand ? BufferView(*operand) : BufferView());
            views.kept.push_back(operand);
            continue;
        }
        YOLK_TRY(const Block block, allocate(bytes_of(described.shape), "result"));
        const BufferView view = block ? BufferView(*block) : BufferView();
        if (described.role == ViewRole::InOut && block) {
            if (operand && operand->size_bytes() < block->size_bytes())
                return bad_input("The array for '{}' has {} bytes; {} are needed.", described.name,
                                 operand->size_bytes(), block->size_bytes());
            views.copies.emplace_back(operand ? BufferView(*operand).part(0, block->size_bytes()) : BufferView(), view);
            views.kept.push_back(operand);
        }
        views.all.push_back(view);
        views.written.push_back(block);
    }
    if (next != operands.size()) return bad_input("The kernel reads {} arrays; {} were given.", next, operands.size());
    return views;
}

Result<Recorder> Place::take_recorder() {
    if (recorders_.empty()) return Recorder::create(context_.device(), {.label = "ops"});
    Recorder recorder = std::move(recorders_.back());
    recorders_.pop_back();
    recorder.begin();
    return recorder;
}

Result<void> Place::land(std::size_t most_left) {
    while (!flights_.empty()) {
        Flight& first = flights_.front();
        if (flights_.size() > most_left) {
            Result<void> ended = context_.dispatcher().wait(first.submission);
            if (!ended) {
                lost_ = lost_ || ended.error().kind == ErrorKind::DeviceLost;
                return ended;
            }
        } else {
            const Result<bool> done = context_.dispatcher().poll(first.submission);
            if (!done || !*done) break;
        }
        recorders_.push_back(std::move(first.recorder));
        flights_.pop_front();
    }
    return {};
}

Result<void> Place::fly(const Kernel& kernel, const Views& views, const When& when) {
    const std::uint64_t needed = kernel.scratch().size_bytes;
    if (needed > scratch_bytes_) {
        scratch_ = nullptr;
        scratch_bytes_ = 0;
        YOLK_TRY(scratch_, allocate(needed, "scratch"));
        scratch_bytes_ = needed;
    }
    YOLK_TRY(Recorder recorder, take_recorder());
    for (const auto& [from, to] : views.copies) {
        if (from.empty()) {
            recorder.fill(to, 0);
        } else {
            recorder.copy(from, to);
        }
    }
    if (!views.copies.empty()) recorder.barrier(Barrier::TransferToCompute);
    Flight flight{.recorder = std::move(recorder), .blocks = views.kept};
    std::ranges::copy(views.written, std::back_inserter(flight.blocks));
    if (needed > 0) flight.blocks.push_back(scratch_);
    YOLK_TRY(flight.bound, kernel.record(flight.recorder, views.all,
                                         needed > 0 ? BufferView(*scratch_).part(0, needed) : BufferView(), when));
    flight.recorder.barrier(Barrier::ToHost);
    // One after the other, with all that was written visible.
    YOLK_TRY(flight.submission,
             context_.dispatcher().submit(
                 flight.recorder, last_ ? std::span<const Submission>(&*last_, 1) : std::span<const Submission>()));
    last_ = flight.submission;
    flights_.push_back(std::move(flight));
    return {};
}

Result<std::vector<Block>> Place::run(const std::string& operation, const std::string& fields, const Numbers& numbers,
                                      std::span<const Block> operands, const When& when) {
    const std::scoped_lock lock(guard_);
    YOLK_TRY_VOID(check_open());
    YOLK_TRY_VOID(land(kMostFlights));
    YOLK_TRY(const std::shared_ptr<const Kernel> kernel, kernel_of(operation, fields, numbers));
    YOLK_TRY(const Views views, views_of(*kernel, operands));
    const Result<void> flown = fly(*kernel, views, when);
    if (!flown) {
        lost_ = lost_ || flown.error().kind == ErrorKind::DeviceLost;
        return flown.error();
    }
    return views.written;
}

Result<void> Place::wait() {
    const std::scoped_lock lock(guard_);
    YOLK_TRY_VOID(check_open());
    return land(0);
}

void Place::close() {
    const std::scoped_lock lock(guard_);
    closed_ = true;
    static_cast<void>(land(0));  // what hangs is abandoned with the device
    flights_.clear();
    recorders_.clear();
    kernels_.clear();
    scratch_ = nullptr;
    scratch_bytes_ = 0;
}

}  // namespace yolk::python
