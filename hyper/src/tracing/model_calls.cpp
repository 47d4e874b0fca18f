// SPDX-License-Identifier: Apache-2.0
#include "yolk/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "equations.hpp"
#include "tracer.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"system", "developer", "user", "assistant"};

Result<void> check_messages(std::string_view name, const ChatMessages& messages) {
    if (messages.empty()) return bad_input("{}: no messages were given; a model is asked by one or more.", name);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (std::ranges::find(kRoles, messages[i].role) == kRoles.end()) {
            return bad_input("{}: message {} has the role '{}'; roles are {}.", name, i, messages[i].role,
                             fmt::join(kRoles, ", "));
        }
        // Of a host call that is under way the type comes later; the call itself looks at it then.
        if (Tracer::is_under_way(messages[i].content)) continue;
        if (const ValueType type = messages[i].content.type(); type.kind != ValueKind::Text) {
            return bad_input("{}: message {} ({}) is {}; a message is text: format() makes one.", name, i,
                             messages[i].role, to_string(type));
        }
    }
    return {};
}

/// Parameters, settings, messages: the operands of the call, which learns the names of what it is given.
std::vector<Traced> operands_of(const ChatMessages& messages, const ModelSettings& settings, ModelCall& call) {
    std::vector<Traced> operands{settings.sampling.value_or(Traced(Tensor()))};
    const auto add = [&](const char* name, const std::optional<Traced>& value) {
        if (!value) return;
        call.settings.emplace_back(name);
        operands.push_back(*value);
    };
    add("temperature", settings.temperature);
    add("top_p", settings.top_p);
    add("presence_penalty", settings.presence_penalty);
    add("frequency_penalty", settings.frequency_penalty);
    add("max_tokens", settings.max_tokens);
    add("seed", settings.seed);
    for (const ChatMessage& message : messages) {
        call.roles.push_back(message.role);
        operands.push_back(message.content);
    }
    return operands;
}

Traced called(std::string_view name, std::optional<chat::Schema> schema, const ChatMessages& messages,
              const ModelSettings& settings, const Line& line) {
    const std::span<const std::string> tags = current_tags();
    ModelCall call{.model = settings.model,
                   .stop = settings.stop,
                   .tags = {tags.begin(), tags.end()},
                   .schema = std::move(schema),
                   .token_limit = settings.token_limit};
    const std::vector<Traced> operands = operands_of(messages, settings, call);
    const auto refused = [&](Error error) {
        return refuse(std::move(error).while_doing("tracing the call at " + line_of(line)), operands)[0];
    };
    if (const auto checked = check_messages(name, messages); !checked) return refused(checked.error());
    auto function = model_function(std::move(call), settings.host, settings.stand_in);
    if (!function) return refused(std::move(function).error());
    Equation equation{.operation = find_operation("host_call"), .host = *std::move(function)};
    equation.made_at = line;
    const Value stand_in = equation.host->stand_in;
    if (const auto tracer = tracer_for(operands)) return tracer->record(std::move(equation), operands, 1, stand_in)[0];
    std::vector<Value> values;
    for (const Traced& operand : operands) values.push_back(Tracer::value_of(operand));
    auto results = evaluate_equation(equation, values);
    return results ? Traced(results->front()) : refused(std::move(results).error());
}

}  // namespace

Traced model_call(const ChatMessages& messages, const ModelSettings& settings, Line line) {
    return called("model_call", {}, messages, settings, line);
}

Traced schema_call(const chat::Schema& schema, const ChatMessages& messages, const ModelSettings& settings, Line line) {
    return called("schema_call", schema, messages, settings, line);
}

}  // namespace yolk::hyper
