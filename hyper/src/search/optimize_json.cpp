// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/json.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

Json to_json(const StepReport& report) {
    Json json{{"step", report.step},
              {"mean", report.mean},
              {"best", report.best},
              {"centre", report.centre},
              {"metric_calls", report.metric_calls},
              {"failed", report.failed},
              {"sigma", report.sigma},
              {"learning_rate", report.learning_rate},
              {"seconds", report.seconds}};
    if (report.held_out) json["held_out"] = *report.held_out;
    return json;
}

Json to_json(const OptimizeOutcome& outcome) {
    Json json{{"start_reward", outcome.start_reward},
              {"best_reward", outcome.best_reward},
              {"steps", outcome.steps},
              {"stopped_by", outcome.stopped_by},
              {"metric_calls", outcome.cost.metric_calls},
              {"host_calls", outcome.cost.host_calls},
              {"dispatches", outcome.cost.dispatches},
              {"numbers", outcome.cost.numbers},
              {"failed_candidates", outcome.failed_candidates}};
    if (outcome.held_out_start) json["held_out_start"] = *outcome.held_out_start;
    if (outcome.held_out_best) json["held_out_best"] = *outcome.held_out_best;
    return json;
}

}  // namespace yolk::hyper
