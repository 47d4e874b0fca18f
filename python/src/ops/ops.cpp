// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "ops/place.hpp"

namespace yolk::python {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// What Python's arrays hold. `bytes`: without those that fill up the last word.
struct Memory {
    std::shared_ptr<Place> place;
    Block block;
    std::uint64_t bytes = 0;
};

/// Threads that are at work without the interpreter's lock, until they have it back.
std::atomic<int> threads_inside{0};
/// The interpreter ends: a thread that let the lock go now would never get it back.
std::atomic<bool> is_ending{false};

class Inside {
   public:
    Inside() {
        Interruptible::stop_if_ending();
        if (is_ending) throw Raised({ErrorKind::Cancelled, "The interpreter is ending; nothing new is begun."});
        ++threads_inside;
    }
    ~Inside() {
        --threads_inside;
        threads_inside.notify_all();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

void end_all() {
    is_ending = true;
    const WithoutLock released;
    Place::close_all();
    for (int inside = threads_inside; inside != 0; inside = threads_inside) threads_inside.wait(inside);
}

template <class Work>
auto without_lock(Work work) {
    const Inside inside;
    std::optional<decltype(work())> result;
    {
        const WithoutLock released;
        result = work();
    }
    return unwrap(std::move(*result));
}

Memory upload(const std::shared_ptr<Place>& place, const Bytes& bytes) {
    const std::span<const std::uint8_t> given(bytes.data(), bytes.size());
    return {place, without_lock([&] { return place->upload(std::as_bytes(given)); }), given.size()};
}

/// An object, which stubs show as an array.
using ByteArray = nb::typed<nb::object, nb::ndarray<nb::numpy, std::uint8_t>>;

ByteArray read(const Memory& memory) {
    auto values = std::make_unique<std::uint8_t[]>(std::max<std::size_t>(1, memory.bytes));
    const std::span<std::uint8_t> to(values.get(), memory.bytes);
    const bool done = without_lock([&]() -> Result<bool> {
        YOLK_TRY_VOID(memory.place->download(memory.block, std::as_writable_bytes(to)));
        return true;
    });
    static_cast<void>(done);
    std::uint8_t* const data = values.release();
    const nb::capsule owner(data, [](void* all) noexcept { delete[] static_cast<std::uint8_t*>(all); });
    const std::size_t size = to.size();
    return nb::borrow<ByteArray>(nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, 1, &size, owner)));
}

nb::list run(const std::shared_ptr<Place>& place, const std::string& operation, const std::string& fields,
             const nb::list& inputs, const nb::dict& numbers, const When& when) {
    std::vector<Block> operands;
    for (const nb::handle input : inputs) {
        if (input.is_none()) {
            operands.emplace_back();
            continue;
        }
        const auto& memory = nb::cast<const Memory&>(input);
        if (memory.place != place) throw Raised(bad_input("An array lies on another device than the kernel's."));
        operands.push_back(memory.block);
    }
    Numbers all;
    for (const auto& [name, value] : numbers) all.emplace(nb::cast<std::string>(name), nb::cast<double>(value));
    const std::vector<Block> written = without_lock([&] { return place->run(operation, fields, all, operands, when); });
    nb::list results;
    for (const Block& block : written) results.append(nb::cast(Memory{place, block, block ? block->size_bytes() : 0}));
    return results;
}

When when_of(std::uint64_t seed, std::uint32_t parameter, std::uint32_t domain, std::uint32_t pair, std::uint32_t time,
             std::uint32_t generation, std::int32_t first_member, double sigma, double learning_rate,
             std::uint32_t step) {
    return {.stream = {.seed = seed,
                       .parameter = parameter,
                       .domain = static_cast<Domain>(domain),
                       .pair = pair,
                       .time = time},
            .generation = generation,
            .first_member = first_member,
            .sigma = static_cast<float>(sigma),
            .learning_rate = static_cast<float>(learning_rate),
            .step = step};
}

nb::dict counts_of(const Place& place) {
    const OperationCounts counts = place.counts();
    nb::dict all;
    all["dispatches"] = counts.dispatches;
    all["submissions"] = counts.submissions;
    all["pipelines_created"] = counts.pipelines_created;
    all["buffers_created"] = counts.buffers_created;
    all["bytes_uploaded"] = counts.bytes_uploaded;
    all["bytes_downloaded"] = counts.bytes_downloaded;
    return all;
}

}  // namespace

void bind_ops(nb::module_& module) {
    nb::class_<When>(module, "When", "The noise that a kernel draws.")
        .def_static("of", &when_of, nb::kw_only(), nb::arg("seed") = 0, nb::arg("parameter") = 0, nb::arg("domain") = 0,
                    nb::arg("pair") = 0, nb::arg("time") = 0, nb::arg("generation") = 0, nb::arg("first_member") = 0,
                    nb::arg("sigma") = 0.0, nb::arg("learning_rate") = 0.0, nb::arg("step") = 0);
    nb::class_<Place>(module, "Place", "A device with the arrays on it.")
        .def_static(
            "of", [](const std::string& request) { return without_lock([&] { return Place::of(request); }); },
            nb::arg("request"))
        .def_prop_ro("name", [](const Place& place) { return place.info().name; })
        .def_prop_ro("index", [](const Place& place) { return place.info().index; })
        .def("counts", &counts_of)
        .def("upload", &upload, nb::arg("bytes"))
        .def("wait",
             [](Place& place) {
                 static_cast<void>(without_lock([&]() -> Result<bool> {
                     YOLK_TRY_VOID(place.wait());
                     return true;
                 }));
             })
        .def("run", &run, nb::arg("operation"), nb::arg("fields"), nb::arg("inputs"), nb::arg("numbers"),
             nb::arg("when"));
    nb::class_<Memory>(module, "Memory", "The memory of an array.")
        .def_prop_ro("place", [](const Memory& memory) { return memory.place; })
        .def_prop_ro("bytes", [](const Memory& memory) { return memory.bytes; })
        .def("read", &read);
    module.def("close_places", [] {
        static_cast<void>(without_lock([]() -> Result<bool> {
            Place::close_all();
            return true;
        }));
    });
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_all));
}

}  // namespace yolk::python
