// SPDX-License-Identifier: Apache-2.0
// A program's own test suite as the metric: the knobs of a name matcher (07_external_tests_suite.cpp, another program)
// are tuned until its tests pass. One process per candidate, as many at the same time as the pool has threads.
#include <cstdio>

#include "yolk/external_program.hpp"
#include "yolk/json.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace {

namespace hyper = yolk::hyper;

/// The matcher's configuration, as someone guessed it.
struct Knobs {
    double gap = 1.0;          // cost of a character too many or too few
    double punctuation = 1.0;  // of a punctuation mark too many or too few
    double letter_case = 1.0;  // of a letter in the other case
    double swap = 2.0;         // of two neighbours in the other order
    double threshold = .4;     // at most so much cost per character is a match

    static hyper::FieldsOf<Knobs> fields() {
        return {hyper::field_of("gap", &Knobs::gap).between(.05, 4).log(),
                hyper::field_of("punctuation", &Knobs::punctuation).between(0, 2),
                hyper::field_of("letter_case", &Knobs::letter_case).between(0, 2),
                hyper::field_of("swap", &Knobs::swap).between(.05, 4).log(),
                hyper::field_of("threshold", &Knobs::threshold).between(.01, 1).log()};
    }
};

std::string configuration(const Knobs& knobs) {
    return yolk::to_line({{"gap", knobs.gap},
                          {"punctuation", knobs.punctuation},
                          {"letter_case", knobs.letter_case},
                          {"swap", knobs.swap},
                          {"threshold", knobs.threshold}});
}

yolk::Result<hyper::OptimizeOutcome> run() {
    const auto knobs = hyper::hyperfunction("knobs", Knobs{}, configuration, {.optimize = true});
    hyper::System system("matcher", [&](const hyper::Inputs&) { return knobs(); });
    // The suite gets the configuration, and prints how many of its tests passed; its status is 1 unless all did.
    YOLK_TRY(const hyper::Metric tests_passed,
             hyper::program_metric({.command = {EXTERNAL_TESTS_SUITE}, .any_status = true}, "tests passed"));
    const std::vector<hyper::Example> examples(1);
    YOLK_TRY(hyper::OptimizeOutcome outcome,
             system.optimize(
                 examples, tests_passed,
                 {.evolution = {.population = 24, .sigma = .2F, .learning_rate = .3F, .seed = 1}, .generations = 25}));
    YOLK_TRY(const Knobs best, system.parameters(knobs));
    std::printf("%.0f tests pass with the first configuration, %.0f with %s (%llu runs of the suite)\n",
                outcome.start_reward, outcome.best_reward, configuration(best).c_str(),
                static_cast<unsigned long long>(outcome.cost.metric_calls));
    return outcome;
}

}  // namespace

int main() {
    const yolk::Result<hyper::OptimizeOutcome> outcome = run();
    if (outcome) return outcome->best_reward == 24 && outcome->start_reward < 24 ? 0 : 1;
    std::fprintf(stderr, "07_external_tests: %s\n", outcome.error().message.c_str());
    return 1;
}
