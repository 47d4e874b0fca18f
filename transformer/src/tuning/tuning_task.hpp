// SPDX-License-Identifier: Apache-2.0
// What finetune() searches, and what it judges by: pairs as examples of a system over a query and a document.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapter_file.hpp"
#include "retrieval.hpp"
#include "yolk/encoder.hpp"
#include "yolk/finetune.hpp"

namespace yolk::transformer {

/// A system over the texts "query" and "document", of which the query and value matrices alone are searched, but for
/// frozen ones. Its traces have no values of what those change. Error: a frozen name that is no group.
[[nodiscard]] Result<hyper::System> retrieval_system(const Encoder& encoder, std::span<const std::string> freeze = {});

/// Two texts as inputs of that system, padded to these lengths.
struct TextLengths {
    std::uint32_t query = 0, document = 0;
};
[[nodiscard]] Result<hyper::Example> example_of(const Encoder& encoder, const std::string& query,
                                                const std::string& document, const TextLengths& lengths);

struct TuningTask {
    Encoder encoder;
    std::shared_ptr<const NumberedPairs> pairs;
    TextLengths lengths{};
    std::vector<hyper::Example> training{}, held_out{}, test{};
};
[[nodiscard]] Result<TuningTask> prepare_tuning(const std::filesystem::path& model, const evolve::Devices& devices,
                                                const FinetuneOptions& options);

/// NDCG@10 of a set of examples, among one another.
[[nodiscard]] hyper::Metric retrieval_metric(std::shared_ptr<const NumberedPairs> pairs);

/// The searched matrices of a set, or of a point in its search coordinates.
[[nodiscard]] Matrices searched_matrices(const hyper::ParameterSet& set);
[[nodiscard]] Result<Matrices> searched_matrices(const hyper::ParameterSet& set, std::span<const float> coordinates);
/// |after - before| / |before|, over all elements.
[[nodiscard]] double update_norm(const Matrices& before, const Matrices& after);

/// What is saved of a change, and what is left out of it.
struct TunedAdapter {
    Adapter adapter{};
    double residual = 0.0;  ///< share of the change's norm
};
/// Error: a rank above what the matrices have.
[[nodiscard]] Result<TunedAdapter> adapter_of(const Matrices& before, const Matrices& after, std::uint32_t rank);

}  // namespace yolk::transformer
