// SPDX-License-Identifier: Apache-2.0
#include "training/encoder.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "yolk/encoder.hpp"

namespace nb = nanobind;

namespace yolk::python {
namespace {

/// Several Python threads may have one, which takes them in turn.
class OpenedEncoder {
   public:
    OpenedEncoder(transformer::Encoder encoder, std::string device)
        : encoder_(std::move(encoder)), device_(std::move(device)) {}

    [[nodiscard]] FloatArray embed(const std::vector<std::string>& texts) {
        unwrap(check_not_forked());
        std::optional<Result<std::vector<float>>> made;
        {
            const Interruptible interruptible;
            const WithoutLock released;
            const std::lock_guard lock(mutex_);
            made = encoder_.embed(texts);
        }
        Interruptible::raise_if_requested();
        return numpy_copy(unwrap(std::move(*made)), {texts.size(), encoder_.config().width});
    }
    [[nodiscard]] std::vector<std::uint32_t> tokens(const std::string& text) const {
        return unwrap(encoder_.tokens(text));
    }
    [[nodiscard]] nb::dict config() const {
        const transformer::EncoderConfig& c = encoder_.config();
        nb::dict all;
        all["vocabulary"] = c.vocabulary;
        all["width"] = c.width;
        all["layers"] = c.layers;
        all["heads"] = c.heads;
        all["inner"] = c.inner;
        all["positions"] = c.positions;
        all["most_tokens"] = c.most_tokens;
        all["normalize"] = c.normalize;
        return all;
    }
    [[nodiscard]] std::vector<std::string> left_out() const {
        return {encoder_.left_out().begin(), encoder_.left_out().end()};
    }
    [[nodiscard]] const std::string& device() const noexcept { return device_; }

   private:
    transformer::Encoder encoder_;
    std::string device_;
    std::mutex mutex_;
};

OpenedEncoder* open_encoder(const std::string& folder, nb::handle device, bool tuning, const std::string& determinism,
                            nb::handle batch, const std::string& adapter) {
    const transformer::EncoderOptions options{
        .determinism = unwrap(parse_determinism(determinism)),
        .batch = static_cast<std::uint32_t>(whole_number("batch", batch, UINT32_MAX)),
        .adapter = adapter};
    const std::vector<Device> devices = open_devices(device, tuning);
    std::optional<Result<transformer::Encoder>> opened;
    {
        const WithoutLock released;
        opened = transformer::Encoder::open(folder, devices, options);
    }
    return new OpenedEncoder(unwrap(std::move(*opened)), devices.front().info().name);
}

}  // namespace

void bind_encoder(nb::module_& module) {
    nb::class_<OpenedEncoder>(module, "OpenedEncoder", "The encoder behind yolk.Encoder.")
        .def_static("open", &open_encoder, nb::rv_policy::take_ownership, nb::arg("folder"), nb::arg("device").none(),
                    nb::arg("tuning"), nb::arg("determinism"), nb::arg("batch"), nb::arg("adapter"))
        .def("embed", &OpenedEncoder::embed, nb::arg("texts"))
        .def("tokens", &OpenedEncoder::tokens, nb::arg("text"))
        .def("config", &OpenedEncoder::config)
        .def("left_out", &OpenedEncoder::left_out)
        .def_prop_ro("device", &OpenedEncoder::device);
}

}  // namespace yolk::python
