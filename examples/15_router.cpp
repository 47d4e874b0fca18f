// SPDX-License-Identifier: Apache-2.0
// Three models read a shop's mail: a router rates each mail, a summarizer shortens those that are rated above a
// threshold, a generator says what is to be done. Their prompts, the threshold and the sampling are improved together,
// and all that is scored is the last answer:
//
//     15_router evaluate --predictions
//     15_router optimize --text gepa --text-budget 100 --population 16 --sigma 0.3 --lr 0.3 --generations 6
//         --out tuned.safetensors
//     15_router parameters --load tuned.safetensors
//     15_router ablate --how reset --load tuned.safetensors
//
// The last one says what each part is worth: of the knobs, the threshold and the generator's sampling do work, the
// router's temperature does none. Who answers: 14_temperature.cpp.
#include "15_router_mails.hpp"
#include "15_router_server.hpp"
#include "text_model.hpp"
#include "yolk/models.hpp"
#include "yolk/run_system.hpp"

using namespace yolk::hyper;

namespace {

/// One number from 0 to 2.
struct Knob {
    double value = 0.0;
    static FieldsOf<Knob> fields() { return {field_of("value", &Knob::value).between(0.0, 2.0)}; }
};

Hyperfunction<Knob> knob(const std::string& name, double first) {
    return hyperfunction(name, Knob{first}, [](const Traced& p) { return to_number(p); }, {.optimize = true});
}

/// A prompt, and the call of a model by it.
template <class Body>
Hyperfunction<TextParameter> asks(const std::string& name, const char* prompt, Body body) {
    return hyperfunction(name, TextParameter{prompt}, body, {.optimize = true});
}

ChatMessages messages(const Traced& prompt, const Traced& text, const char* wanted) {
    return {{"system", prompt}, {"user", format("{}\n\n" + std::string(wanted) + ":", {text})}};
}

}  // namespace

int main(int argc, char** argv) {
    const auto models = text_example::open_models(argc, argv, &router_example::answer);
    if (!models) return 2;

    const auto threshold = knob("threshold", 0.6), temperature = knob("router's temperature", 0.7);
    const auto sampling =
        hyperfunction("sampling", LmParam{.temperature = 1.0}, [](const Traced& p) { return p; }, {.optimize = true});
    const auto router =
        asks("router", "Rate this mail from 0 to 1.", [](const Traced& prompt, const Traced& mail, const Traced& heat) {
            const auto schema = yolk::chat::doc({{"rating", yolk::chat::number("from 0 to 1")}});
            return field(schema_call(schema, messages(prompt, mail, "Rating"), {.temperature = heat}), "rating");
        });
    const auto summarizer = asks("summarizer", "Summarize the mail.", [](const Traced& prompt, const Traced& mail) {
        return model_call(messages(prompt, mail, "Summary"), {.temperature = 0.0});
    });
    const auto generator = asks("generator", "Say what the shop is to do about the mail.",
                                [](const Traced& prompt, const Traced& text, const Traced& settings) {
                                    return model_call(messages(prompt, text, "Answer"), sampled_by(settings));
                                });

    System system("router", [&](const Inputs& in) {
        const Traced mail = in["mail"];
        const Traced is_long = less(threshold(), router(mail, temperature()));
        const Traced text = switch_on(is_long, {[&] { return mail; }, [&] { return summarizer(mail); }});
        return generator(text, sampling());
    });
    system.use(*models);
    return yolk::cli::run_system(argc, argv, system, router_example::mails(), router_example::right_answer(),
                                 router_example::held_out_mails());
}
