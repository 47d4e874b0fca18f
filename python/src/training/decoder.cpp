// SPDX-License-Identifier: Apache-2.0
#include "training/decoder.hpp"

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
#include "yolk/decoder.hpp"

namespace nb = nanobind;

namespace yolk::python {
namespace {

using transformer::Generated;

/// (text, tokens, ended) each.
nb::list listed(const std::vector<Generated>& texts) {
    nb::list all;
    for (const Generated& one : texts) all.append(nb::make_tuple(one.text, one.tokens, one.ended));
    return all;
}

/// Several Python threads may have one, which takes them in turn.
class OpenedDecoder {
   private:
    /// The value of a Result that is made without the interpreter's lock.
    template <class Work>
    auto in_turn(Work work) {
        std::optional<decltype(work())> made;
        {
            const Interruptible interruptible;
            const nb::gil_scoped_release released;
            const std::lock_guard lock(mutex_);
            made = work();
        }
        Interruptible::raise_if_requested();
        return unwrap(std::move(*made));
    }

   public:
    OpenedDecoder(transformer::Decoder decoder, std::string device)
        : decoder_(std::move(decoder)), device_(std::move(device)) {}

    [[nodiscard]] FloatArray logits(const std::vector<std::uint32_t>& tokens) {
        const std::vector<float> made = in_turn([&] { return decoder_.logits(tokens); });
        return numpy_copy(made, {tokens.size(), decoder_.config().vocabulary});
    }
    [[nodiscard]] nb::list generate(const std::vector<std::string>& prompts, std::uint32_t tokens, double temperature,
                                    std::uint32_t top_k, double top_p, std::uint64_t seed) {
        const transformer::GenerateOptions options{
            .tokens = tokens, .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
        return listed(in_turn([&] { return decoder_.generate(prompts, options); }));
    }
    [[nodiscard]] nb::list generate_members(const std::string& prompt, std::uint32_t tokens, double temperature,
                                            std::uint32_t top_k, double top_p, std::uint64_t seed,
                                            std::uint32_t members, float sigma, std::uint32_t rank,
                                            std::uint32_t generation, const std::string& perturbed) {
        const transformer::GenerateOptions options{
            .tokens = tokens, .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
        const transformer::DecoderPopulation population{.members = members,
                                                        .sigma = sigma,
                                                        .rank = rank,
                                                        .seed = seed,
                                                        .generation = generation,
                                                        .perturbed = perturbed};
        return listed(in_turn([&] { return decoder_.generate(prompt, population, options); }));
    }
    [[nodiscard]] std::vector<std::uint32_t> tokens(const std::string& text) const {
        return unwrap(decoder_.tokens(text));
    }
    [[nodiscard]] std::string text(const std::vector<std::uint32_t>& tokens) const { return decoder_.text(tokens); }
    [[nodiscard]] nb::dict config() const {
        const transformer::DecoderConfig& c = decoder_.config();
        nb::dict all;
        all["vocabulary"] = c.vocabulary;
        all["width"] = c.width;
        all["layers"] = c.layers;
        all["heads"] = c.heads;
        all["key_heads"] = c.key_heads;
        all["head_width"] = c.head_width;
        all["inner"] = c.inner;
        all["tied"] = c.tied;
        all["most_tokens"] = c.most_tokens;
        all["ends"] = c.ends;
        return all;
    }
    [[nodiscard]] std::vector<std::string> left_out() const {
        return {decoder_.left_out().begin(), decoder_.left_out().end()};
    }
    [[nodiscard]] const std::string& device() const noexcept { return device_; }

   private:
    transformer::Decoder decoder_;
    std::string device_;
    std::mutex mutex_;
};

OpenedDecoder* open_decoder(const std::string& folder, nb::handle device, bool tuning, const std::string& determinism) {
    const transformer::DecoderOptions options{.determinism = unwrap(parse_determinism(determinism))};
    const std::vector<Device> devices = open_devices(device, tuning);
    std::optional<Result<transformer::Decoder>> opened;
    {
        const nb::gil_scoped_release released;
        opened = transformer::Decoder::open(folder, devices, options);
    }
    return new OpenedDecoder(unwrap(std::move(*opened)), devices.front().info().name);
}

}  // namespace

void bind_decoder(nb::module_& module) {
    nb::class_<OpenedDecoder>(module, "OpenedDecoder", "The decoder behind yolk.Decoder.")
        .def_static("open", &open_decoder, nb::rv_policy::take_ownership, nb::arg("folder"), nb::arg("device").none(),
                    nb::arg("tuning"), nb::arg("determinism"))
        .def("logits", &OpenedDecoder::logits, nb::arg("tokens"))
        .def("generate", &OpenedDecoder::generate, nb::arg("prompts"), nb::arg("tokens"), nb::arg("temperature"),
             nb::arg("top_k"), nb::arg("top_p"), nb::arg("seed"))
        .def("generate_members", &OpenedDecoder::generate_members, nb::arg("prompt"), nb::arg("tokens"),
             nb::arg("temperature"), nb::arg("top_k"), nb::arg("top_p"), nb::arg("seed"), nb::arg("members"),
             nb::arg("sigma"), nb::arg("rank"), nb::arg("generation"), nb::arg("perturbed"))
        .def("tokens", &OpenedDecoder::tokens, nb::arg("text"))
        .def("text", &OpenedDecoder::text, nb::arg("tokens"))
        .def("config", &OpenedDecoder::config)
        .def("left_out", &OpenedDecoder::left_out)
        .def_prop_ro("device", &OpenedDecoder::device);
}

}  // namespace yolk::python
