// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "text.hpp"

namespace yolk::chat {
namespace {

/// Clamps, as LMParam of autoform does when it builds its request.
Result<void> put_number(Json& body, const char* name, const std::optional<double>& value, double least, double most) {
    if (!value) return {};
    if (std::isnan(*value)) return bad_input("The request's {} is not a number; {} to {} are sent.", name, least, most);
    body[name] = std::clamp(*value, least, most) + 0.0;  // no -0, which would be another text for the same request
    return {};
}

Result<Json> messages_json(const Request& request, const Secret& key) {
    constexpr std::array<std::string_view, 4> kRoles{"system", "developer", "user", "assistant"};
    if (request.messages.empty()) return bad_input("The request has no messages; it needs at least one.");
    Json list = Json::array();
    for (std::size_t i = 0; i < request.messages.size(); ++i) {
        const Message& message = request.messages[i];
        if (std::ranges::count(kRoles, message.role) == 0)
            return bad_input("Message {} has the role {}; system, developer, user and assistant are allowed.", i,
                             excerpt(key.removed_from(message.role), 60));
        if (!is_utf8(message.content))
            return bad_input("Message {} is not UTF-8; only text can be sent. Convert it first.", i);
        if (key.is_in(message.content))
            return bad_input("Message {} contains the key that the request is signed with; take it out.", i);
        list.push_back({{"role", message.role}, {"content", message.content}});
    }
    return list;
}

Result<void> put_stop(Json& body, const std::vector<std::string>& stop, const Secret& key) {
    for (const std::string& word : stop) {
        if (word.empty() || !is_utf8(word) || key.is_in(word))
            return bad_input("One of the request's {} stop words is empty, is not UTF-8, or contains the key.",
                             stop.size());
    }
    if (!stop.empty()) body["stop"] = stop;
    return {};
}

Result<void> put_settings(Json& body, const Request& request, const BodySettings& settings) {
    YOLK_TRY_VOID(put_number(body, "temperature", request.temperature, 0.0, 2.0));
    YOLK_TRY_VOID(put_number(body, "top_p", request.top_p, 0.0, 1.0));
    YOLK_TRY_VOID(put_number(body, "presence_penalty", request.presence_penalty, -2.0, 2.0));
    YOLK_TRY_VOID(put_number(body, "frequency_penalty", request.frequency_penalty, -2.0, 2.0));
    if (request.max_tokens)
        body[std::string(settings.max_tokens_name)] = std::max<std::int64_t>(*request.max_tokens, 1);
    YOLK_TRY_VOID(put_stop(body, request.stop, settings.key));
    if (request.seed) body["seed"] = *request.seed;
    if (!request.schema) return {};
    YOLK_TRY_VOID(check_schema(*request.schema));
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", "reply"}, {"strict", true}, {"schema", to_json_schema(*request.schema)}}}};
    return {};
}

}  // namespace

Result<std::string> request_body(const Request& request, const BodySettings& settings) {
    const std::string_view model = request.model.empty() ? settings.model : std::string_view(request.model);
    if (model.empty()) return bad_input("Neither the request nor the client names a model; set ClientOptions::model.");
    if (!is_utf8(model)) return bad_input("The model's name {} is not UTF-8.", excerpt(model, 60));
    Json body = {{"model", model}};
    YOLK_TRY(body["messages"], messages_json(request, settings.key));
    YOLK_TRY_VOID(put_settings(body, request, settings));
    body["stream"] = false;
    const std::string text = to_line(body);
    if (request.schema && settings.key.is_in(text))
        return bad_input("The request's schema contains the key that the request is signed with; take it out.");
    return text;
}

double estimated_tokens(const Request& request) {
    double bytes = 0.0;
    for (const Message& message : request.messages) bytes += static_cast<double>(message.content.size());
    return bytes / 4.0 + static_cast<double>(std::max<std::int64_t>(request.max_tokens.value_or(0), 0));
}

}  // namespace yolk::chat
