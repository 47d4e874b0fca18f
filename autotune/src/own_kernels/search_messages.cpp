// SPDX-License-Identifier: Apache-2.0
#include "search_messages.hpp"

#include <fmt/format.h>

#include <charconv>

namespace yolk::autotune {
namespace {

/// Fields that are read one after the other.
class Fields {
   public:
    Fields(const WorkerMessage& message, std::size_t first) : message_(message), next_(first) {}
    std::string text() {
        if (next_ < message_.size()) return message_[next_++];
        missing_ = true;
        return {};
    }
    template <class T>
    void number(T& value) {
        const std::string field = text();
        const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
        missing_ = missing_ || read.ec != std::errc() || read.ptr != field.data() + field.size();
    }
    void truth(bool& value) { value = text() == "1"; }
    [[nodiscard]] std::size_t left() const noexcept { return message_.size() - next_; }
    /// All fields were there, and no others.
    [[nodiscard]] Result<void> end() const {
        if (missing_ || next_ != message_.size()) return io_error("A message of a worker's search is not one.", 0);
        return {};
    }

   private:
    const WorkerMessage& message_;
    std::size_t next_;
    bool missing_ = false;
};

template <class T>
std::string field(T value) {
    return fmt::format("{}", value);
}
std::string field(bool value) { return value ? "1" : "0"; }

}  // namespace

WorkerMessage message_of(const SearchRequest& request) {
    WorkerMessage message{
        request.files.shader.string(),   request.files.space.string(), request.table.string(), request.kernel,
        field(request.device_index),     request.device_uuid,          request.device_name,    request.strategy,
        field(request.budget),           field(request.seed),          field(request.again),   field(request.seconds),
        field(request.hang_milliseconds)};
    for (const std::filesystem::path& folder : request.files.includes) message.push_back(folder.string());
    return message;
}

Result<SearchRequest> search_request(const WorkerMessage& message) {
    Fields fields(message, 0);
    SearchRequest request;
    request.files.shader = fields.text();
    request.files.space = fields.text();
    request.table = fields.text();
    request.kernel = fields.text();
    fields.number(request.device_index);
    request.device_uuid = fields.text();
    request.device_name = fields.text();
    request.strategy = fields.text();
    fields.number(request.budget);
    fields.number(request.seed);
    fields.truth(request.again);
    fields.number(request.seconds);
    fields.number(request.hang_milliseconds);
    while (fields.left() > 0) request.files.includes.emplace_back(fields.text());
    YOLK_TRY_VOID(fields.end());
    return request;
}

WorkerMessage message_of(const LiveProgress& progress) {
    return {std::string(kProgress), field(progress.evaluations),       field(progress.rejected),
            field(progress.budget), field(progress.best_milliseconds), field(progress.heuristic_milliseconds)};
}

Result<LiveProgress> live_progress(const WorkerMessage& message) {
    Fields fields(message, 1);
    LiveProgress progress;
    fields.number(progress.evaluations);
    fields.number(progress.rejected);
    fields.number(progress.budget);
    fields.number(progress.best_milliseconds);
    fields.number(progress.heuristic_milliseconds);
    YOLK_TRY_VOID(fields.end());
    return progress;
}

WorkerMessage message_of(const TuneLiveOutcome& outcome) {
    const TuningChoice& choice = outcome.choice;
    return {choice.configuration.empty() ? std::string() : configuration_text(choice.configuration),
            field(choice.milliseconds),
            field(choice.heuristic_milliseconds),
            field(choice.plain_milliseconds),
            field(choice.spread),
            field(choice.evaluations),
            field(outcome.replaced),
            field(outcome.found),
            field(outcome.interrupted),
            field(outcome.measured),
            field(outcome.rejected),
            field(outcome.known)};
}

Result<TuneLiveOutcome> live_outcome(const WorkerMessage& message, const TuningKey& key) {
    Fields fields(message, 0);
    TuneLiveOutcome outcome;
    TuningChoice& choice = outcome.choice;
    choice.key = key;
    if (const std::string text = fields.text(); !text.empty()) {
        std::optional<StoredConfiguration> configuration = parse_configuration(text);
        if (!configuration) return io_error("A worker's search ended with a configuration that is not one.", 0);
        choice.configuration = *std::move(configuration);
    }
    fields.number(choice.milliseconds);
    fields.number(choice.heuristic_milliseconds);
    fields.number(choice.plain_milliseconds);
    fields.number(choice.spread);
    fields.number(choice.evaluations);
    fields.truth(outcome.replaced);
    fields.truth(outcome.found);
    fields.truth(outcome.interrupted);
    fields.number(outcome.measured);
    fields.number(outcome.rejected);
    fields.number(outcome.known);
    YOLK_TRY_VOID(fields.end());
    return outcome;
}

}  // namespace yolk::autotune
